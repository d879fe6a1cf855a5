// Says why SOURCE could not be opened.
#pragma once

#include <string>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// `error` is that of opening `path`, which names files as libhdf5 does: of a set, the first member is
// checked. Returns an error of one line, with the remedy: NotFound or Io if the file is missing, not readable
// by this user, or not a regular file; the name of the format if the file has another known one; else
// `error`.
Error why_not_opened(const std::string& path, const Error& error);

}  // namespace h5mount::cli
