// Checks of single objects: private to the module.
#pragma once

#include <string>
#include <vector>

#include "extents.h"
#include "h5mount/object/object.h"

namespace h5mount::check {

struct Context {
  const dataset::ReadEnvironment& environment;
  object::OpenedFilePtr file;
  metadata::FileMetadataPtr metadata;
  Tally& tally;
  Extents& extents;
};

// A hard link that leads to an object.
struct Child {
  std::uint64_t address;
  std::string path;
};

// Header, attributes, and what the kind of the object has. The hard links of a group are appended to
// `children`.
void check_object(const Context& context, const Child& place, std::vector<Child>& children);

// The raw data of a dataset.
void check_data(const Context& context, const std::string& path,
                const object::DatasetDescription& description);

}  // namespace h5mount::check
