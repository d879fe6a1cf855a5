// Who may read a file whose bytes are shown as those of another one.
#pragma once

#include <string>

#include "h5mount/base/error.h"
#include "h5mount/object/external_access.h"

namespace h5mount::object {

// Removes from a file's readers those who may not search a directory above it. `directory`: null if nothing
// is known of the directory.
void restrict_by_directory(FileAttributes& file, const FileAttributes* directory);

// Why a file is not shown as part of another one.
Error fewer_readers(const std::string& source, const std::string& shown);

}  // namespace h5mount::object
