// A store of rows of a catalogue on disk (tree/catalogue_store.h): an SQLite database in a directory of the
// user's own. It is never trusted: damaged rows are dropped, a file that is not such a database is replaced,
// and rows count only if their checksum is right. The mounts of a user share it.
//
// The directory is made with mode 0700. It is refused (AccessDenied) if it belongs to somebody else, if
// others may write to it, or if others could replace it because they may write to a directory above it. If
// the database is busy or cannot be written, nothing is remembered meanwhile, which is not an error. Its size
// is bounded: once it is full, rows of other sources are removed to make room for those of this one, and
// after that no more rows are remembered. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "h5mount/tree/catalogue_store.h"

namespace h5mount::store {

inline constexpr std::uint64_t kMaxStoreBytes = 4ULL << 30;

struct StoreUse {
  // Everything that rows depend on besides the file: the program's version, and options. Rows of other
  // makers are not found.
  std::string maker;
  // The source that the files belong to. Each source removes the rows of files that it no longer has.
  std::string source;
  std::uint64_t most_bytes = kMaxStoreBytes;
};
Result<std::shared_ptr<tree::CatalogueStore>> open_catalogue_store(const std::string& directory,
                                                                   const StoreUse& use);

}  // namespace h5mount::store
