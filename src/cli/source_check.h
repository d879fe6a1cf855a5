// Says why SOURCE could not be opened.
#pragma once

#include <string>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// `error` is that of opening `path`, which names files as libhdf5 does: of a file set the first member is
// looked at. Returns an error of one line, with the remedy: NotFound or Io where the file is missing, not
// readable by this user, or no regular file; what the file is where it is of another known format; else
// `error`.
Error why_not_opened(const std::string& path, const Error& error);

}  // namespace h5mount::cli
