// A store of lines on disk (tree/line_store.h): an SQLite database in a directory of the user's own. It is
// never trusted: what is damaged is forgotten, a database that is none is made anew, and what is found in it
// counts only with its checksum. Mounts of a user share it.
//
// The directory is made with mode 0700. Refused (AccessDenied) is one that belongs to somebody else, or in
// which others may write, or which others could replace as they may write in a directory above it. A database
// that is busy, or cannot be written, remembers nothing meanwhile: that is no error. It has a bound: once it
// is full, lines of other sources make place for those of this one, and then no more are remembered.
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "h5mount/tree/line_store.h"

namespace h5mount::store {

// False where this build lacks SQLite.
bool can_store();

inline constexpr std::uint64_t kMaxStoreBytes = 4ULL << 30;

struct StoreUse {
  // What lines depend on besides the file: the program's version, and options. Lines of other makers are not
  // found.
  std::string maker;
  // Whose files they are. Each source removes the lines of those that it no longer has.
  std::string source;
  std::uint64_t most_bytes = kMaxStoreBytes;
};
Result<std::shared_ptr<tree::LineStore>> open_line_store(const std::string& directory, const StoreUse& use);

}  // namespace h5mount::store
