// Structures: which structures were checked field by field. A hostile file can refer to one any number of
// times, and to overlapping ones. Threads: any.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "h5mount/base/limits.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::check {

class Structures {
 public:
  explicit Structures(std::uint64_t file_bytes)
      : bytes_left_(kBytesAnyway + kTimes * (file_bytes > kMaxFileBytes ? kMaxFileBytes : file_bytes)) {}

  // Returns false if the structure was checked before, or if more was read than a sound file has.
  bool enter(std::uint64_t address, std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    if (bytes > bytes_left_ || known_.size() >= limits::kMaxWalkedObjects) return false;
    if (!known_.insert(address).second) return false;
    bytes_left_ -= bytes;
    return true;
  }

 private:
  static constexpr std::uint64_t kTimes = 4, kBytesAnyway = 64U << 20;
  static constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 48;

  mutable Mutex mutex_;
  std::unordered_set<std::uint64_t> known_ H5_GUARDED_BY(mutex_);
  std::uint64_t bytes_left_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::check
