// What the mount takes over from the HDF5 file itself: owner, time, who may read.
#pragma once

#include <string>

#include "h5mount/view/tree.h"
#include "mount_options.h"

namespace h5mount::cli {

// `path` as libhdf5 names files: for a file set the first member is asked.
TreeOptions tree_options(const std::string& path, const MountOptions& options);

// Members of a file set that `path` may name, the path itself first.
std::vector<std::string> first_members(const std::string& path);

}  // namespace h5mount::cli
