// Checks whether SOURCE can be read before it is opened, and explains what a file that is not HDF5 is.
#pragma once

#include <string>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// Errors: NotFound, or Io: missing, not readable by this user, or no regular file. One line with the remedy.
// `path` as libhdf5 names files: for a file set the first member is checked.
Status check_source(const std::string& path);

// `error` is the error of opening `path` as HDF5; for a file of another known format, returns an error that
// says so.
Error explain_refusal(const std::string& path, Error error);

}  // namespace h5mount::cli
