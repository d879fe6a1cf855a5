// A directory in which this program keeps files for later runs; it must be the user's own.
#pragma once

#include <string>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount {

// Opens the directory, which is made (mode 0700) if it does not exist. Fails with AccessDenied if it belongs
// to somebody else, or if others may write to it.
Result<UniqueFd> open_own_directory(const std::string& path);

}  // namespace h5mount
