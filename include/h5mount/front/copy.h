// Copies a part of the tree to disk, in parallel: the result is that of `cp -a` from a mount. The walk makes
// directories and queues files for the threads. A file is written under another name (`.h5mount-copy-…`),
// with its times, mode and attributes, and renamed when it is complete. As long as a directory's copy is
// unfinished, a record in it (`.h5mount-copied`) tells which state of the source is being copied and which
// files are complete, so that the same call continues the copy. No other files in the directory are kept,
// neither those of a finished copy nor data that come from other files. Files with temporary names that a
// killed copy left are removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "h5mount/front/commands.h"

namespace h5mount::front {

// The progress of a copy, updated continuously. Bytes are those of sizes, holes included.
struct CopyProgress {
  std::atomic<std::uint64_t> files{0}, bytes{0};  // done
  std::atomic<std::uint64_t> kept_bytes{0};       // of these, in files that were already complete
  std::atomic<std::uint64_t> all_files{0}, all_bytes{0};
  std::atomic<bool> counted{false};  // all_* are complete
};

struct CopyOptions {
  std::string path;         // in the tree; a symlink is copied, not followed
  std::string destination;  // becomes the directory; if it is an existing directory, a file is put into it
  unsigned threads = 1;
  // Differs for each file, for each state of it, and for everything else that the copy's bytes and modes
  // depend on. Empty: it is not known, and no copy is continued.
  std::string source_version = {};
  const std::atomic<bool>* stop = nullptr;  // true: ends soon, with the error Stale; null: cannot be stopped
  CopyProgress* progress = nullptr;         // null: no progress, and nothing is counted beforehand
};

// `failed` is called from any thread, one call at a time. Fails if the copy cannot continue: the destination
// cannot be written, or is full; the error's text begins with the destination.
Status copy(const std::shared_ptr<tree::Tree>& tree, const CopyOptions& options,
            const FailureHandler& failed);

}  // namespace h5mount::front
