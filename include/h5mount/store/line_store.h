// A store of lines on disk (tree/line_store.h): an SQLite database in a directory of the user's own. It is
// never trusted: what is damaged is forgotten, a database that is none is made anew, and what is found in it
// counts only with its checksum. Mounts of a user share it.
//
// The directory is made with mode 0700. Refused (AccessDenied) is one that belongs to somebody else, or in
// which others may write. A database that is busy, or cannot be written, remembers nothing meanwhile: that is
// no error. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "h5mount/tree/line_store.h"

namespace h5mount::store {

// False where this build lacks SQLite.
bool can_store();

// `maker`: what lines depend on besides the file: the program's version, and options. Lines of other makers
// are not found.
Result<std::shared_ptr<tree::LineStore>> open_line_store(const std::string& directory,
                                                         const std::string& maker);

}  // namespace h5mount::store
