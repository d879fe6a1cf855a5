// Checks of single objects: private to the module.
#pragma once

#include "extents.h"
#include "h5mount/object/object.h"
#include "places.h"
#include "value_work.h"

namespace h5mount::check {

struct Context {
  const dataset::ReadEnvironment& environment;
  object::OpenedFilePtr file;
  metadata::FileMetadataPtr metadata;
  Tally& tally;
  Places& places;
  Extents& extents;
  ValueWork& values;

  void found(PlaceId place, const Error& error) const { tally.found(places.path(place), error); }
  void note(PlaceId place, const Error& error) const { tally.note(places.path(place), error); }
};

// Checks header, attributes, and what belongs to the object's kind. The objects that the hard links of a
// group lead to are added to the places.
void check_object(const Context& context, PlaceId place);

// Checks the raw data of a dataset.
void check_data(const Context& context, PlaceId place, const object::DatasetDescription& description);

}  // namespace h5mount::check
