// SizePublisher: publishes the size of one growing file, which stat returns to the kernel.
//
// A new size may be seen only after the kernel has dropped the pages that the growth made stale: otherwise it
// would serve them as the bytes before the new end. Dropping a page waits for running reads of it. So a state
// is published in two steps: the kernel is asked to drop what became stale since the state that was published
// last, and when it has, the size is replaced. Until then stat returns the old size as incomplete, so that
// the kernel asks again. Before anything was published there is no old size: all callers wait for the first
// one, and if the kernel takes too long, they return that size as incomplete. Threads: any; a caller waits
// for the end of these steps without a lock, and at most a fraction of a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"
#include "stale_ranges.h"

namespace h5mount::tree {

class SizePublisher : public std::enable_shared_from_this<SizePublisher> {
 public:
  struct Size {
    std::uint64_t bytes = 0;
    bool newest = true;  // false: a later one is about to be published
  };

  std::optional<std::uint64_t> size() const;  // nothing until one was published
  // The largest size that the kernel may believe: for a moment after a smaller one was published, an answer
  // with the one before may still be on its way.
  std::uint64_t believed_size() const;

  // Publishes the size of a state; later states have higher numbers, from 1 on. `stale`: what became stale up
  // to this state. `kernel`: null if no kernel caches pages; else the call waits a moment for it. Returns the
  // size that is published then.
  Size publish(KernelPages* kernel, NodeId node, std::uint64_t state, std::uint64_t bytes,
               const StaleRanges& stale);

 private:
  void finish(std::uint64_t state, std::uint64_t bytes);

  mutable Mutex mutex_;
  Condition finished_;
  std::uint64_t bytes_ H5_GUARDED_BY(mutex_) = 0;
  std::uint64_t state_ H5_GUARDED_BY(mutex_) = 0;  // that of bytes_; 0: none yet
  // The largest size of before, and until when it may be believed.
  std::uint64_t larger_ H5_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point believed_until_ H5_GUARDED_BY(mutex_);
  // A thread, and after it the kernel, is at work on the steps before the size.
  bool invalidating_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::tree
