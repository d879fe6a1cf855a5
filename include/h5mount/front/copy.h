// Copies a part of the tree to disk, in parallel: the result is that of `cp -a` from a mount. A file is
// written under another name (`.h5mount-copy-…`), with its times, mode and attributes, and renamed when it is
// complete. So the same call continues an interrupted copy: a file with the size and time of its source that
// was finished after the source's last change is complete; temporary names that a killed copy left are
// removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

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
  std::string destination;  // becomes the directory; where it is an existing directory, a file is put into it
  unsigned threads = 1;
  std::timespec source_changed = {};        // when the HDF5 file was last written
  const std::atomic<bool>* stop = nullptr;  // true: ends soon, with the error Stale; null: cannot be stopped
  CopyProgress* progress = nullptr;         // null: no progress, and nothing is counted beforehand
};

// `failed` is called from any thread, one at a time. An error where the copy cannot continue: the destination
// cannot be written, or is full.
Status copy(const std::shared_ptr<tree::Tree>& tree, const CopyOptions& options,
            const FailureHandler& failed);

}  // namespace h5mount::front
