// Observer: learns of what a walk over a file meets, beside what it finds to be damaged: for verdicts, which
// judge what is there. Called by the walk's thread, which is the only one if there is an observer.
#pragma once

#include <cstdint>
#include <span>

#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/object/object.h"
#include "places.h"

namespace h5mount::check {

// What of a dataset's raw data is stored.
struct DataTotals {
  std::uint64_t bytes = 0, chunks = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Returns whether the walk goes on to what a hard link leads to.
  virtual bool met_link(PlaceId group, const format::Link& link) = 0;
  virtual void met_object(PlaceId place, const object::Object& object) = 0;
  virtual void met_type(PlaceId place, const format::Datatype& type) = 0;  // a committed one
  virtual void met_attribute(PlaceId place, const object::Attribute& attribute) = 0;
  // Called before the dataset's data are walked over; some parts may be damaged.
  virtual void met_dataset(PlaceId place, const object::DatasetParts& dataset) = 0;
  // Elements of a type with references or variable-length parts, where they lie in the file as they are. Not
  // called by a quick walk.
  virtual void met_elements(PlaceId place, const format::DatatypePtr& type, ByteSpan elements) = 0;
  // Called behind the last range, or what was met before damage.
  virtual void met_storage(PlaceId place, const object::DatasetDescription& dataset,
                           const DataTotals& stored) = 0;
  // Of a heap.
  virtual void met_filters(PlaceId place, std::span<const format::FilterDescription> filters) = 0;
  // Called when every object was met.
  virtual void met_all() = 0;
  // A message of a type that the format does not define.
  virtual void met_unknown_message(PlaceId place, std::uint64_t type, std::uint64_t flags) = 0;
};

}  // namespace h5mount::check
