// Whether SOURCE can be read at all, seen before it is opened, and the words for one that is not HDF5.
#pragma once

#include <string>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// Errors: NotFound, or Io: not there, not to be read by this user, or no regular file. One line with the
// cure. `path` as libhdf5 names files: of a file set the first member counts.
Status check_source(const std::string& path);

// `error` is what opening `path` as HDF5 gave; where the file is of another known format, an error that says
// so.
Error explain_refusal(const std::string& path, Error error);

}  // namespace h5mount::cli
