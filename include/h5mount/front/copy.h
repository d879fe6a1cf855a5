// Copies a part of the tree onto disk: what `cp -a` of a mount gives, in parallel. A file is written under
// another name (`.h5mount-copy-…`), with its times, mode and attributes, and renamed when it is whole. So an
// interrupted copy is continued by the same call: what has the size and the time of its source, and was
// finished after the source was last changed, is whole; names that a killed copy left behind are removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "h5mount/front/commands.h"

namespace h5mount::front {

// For whoever shows how far a copy is; updated all the time. Bytes are those of sizes, holes included.
struct CopyProgress {
  std::atomic<std::uint64_t> files{0}, bytes{0};  // done
  std::atomic<std::uint64_t> kept_bytes{0};       // of these, in files that were whole already
  std::atomic<std::uint64_t> all_files{0}, all_bytes{0};
  std::atomic<bool> counted{false};  // all_* are complete
};

struct CopyOptions {
  std::string path;         // in the tree; a symlink is copied, not followed
  std::string destination;  // becomes the directory; a file goes into it where it is a directory
  unsigned threads = 1;
  std::timespec source_changed = {};        // when the HDF5 file was last written
  const std::atomic<bool>* stop = nullptr;  // true: ends soon, with the error Stale; null: never
  CopyProgress* progress = nullptr;         // null: nobody looks, and nothing is counted beforehand
};

// `failed` is called from any thread, one at a time. An error where nothing can go on: the destination cannot
// be written, or is full.
Status copy(const std::shared_ptr<tree::Tree>& tree, const CopyOptions& options,
            const FailureHandler& failed);

}  // namespace h5mount::front
