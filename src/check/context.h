// Context: what the checks of one file share: private to the module. Threads: any.
#pragma once

#include "extents.h"
#include "h5mount/object/object.h"
#include "places.h"
#include "value_work.h"

namespace h5mount::check {

class Structures;

struct Context {
  const dataset::ReadEnvironment& environment;
  object::OpenedFilePtr file;
  metadata::FileMetadataPtr metadata;
  Tally& tally;
  Places& places;
  Extents& extents;
  ValueWork& values;
  Structures& structures;
  FieldReport* fields = nullptr;  // may be null
  std::uint64_t stored_end = 0;   // the first address behind what the file has, and says that it has

  void found(PlaceId place, const Error& error) const { tally.found(places.path(place), error); }
  void note(PlaceId place, const Error& error) const { tally.note(places.path(place), error); }
  // A field that readers do not need, or that they read all the same, has another value than the
  // specification allows. Where readers have told of the field already, nothing is added.
  void disagrees(PlaceId place, const Error& error) const { tally.disagrees(places.path(place), error); }
};

}  // namespace h5mount::check
