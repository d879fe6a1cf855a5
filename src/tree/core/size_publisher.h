// SizePublisher: publishes the size of one growing dataset's file, which stat returns to the kernel.
//
// A new size may be seen only after the kernel has dropped the pages that the growth made stale: otherwise it
// would serve them as the bytes before the new end. Dropping a page waits for running reads of it. So a
// version is published in three steps: its stale ranges are determined, the kernel is asked to drop them, and
// when it has, the size is replaced. Until then stat returns the old size as incomplete, so that the kernel
// asks again. Threads: any; no lock is held while anything is read; a wait is for the end of these steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

class SizePublisher : public std::enable_shared_from_this<SizePublisher> {
 public:
  struct Size {
    std::uint64_t bytes = 0;
    bool newest = true;  // false: a later one is about to be published
  };
  using Ranges = std::vector<dataset::ByteRange>;

  std::uint64_t size() const;

  // Publishes the size of a version; later versions have higher numbers, from 1 on. `stale` returns the
  // ranges that the version makes stale; one thread calls it, once a version. Waits a moment for the kernel;
  // null: no kernel caches pages. Returns the size that is published then.
  Size publish(KernelPages* kernel, NodeId node, std::uint64_t version, std::uint64_t bytes,
               const std::function<Ranges()>& stale);

 private:
  class Step;
  void finish(std::uint64_t version, std::uint64_t bytes);

  mutable Mutex mutex_;
  Condition finished_;
  std::uint64_t bytes_ H5_GUARDED_BY(mutex_) = 0;
  std::uint64_t version_ H5_GUARDED_BY(mutex_) = 0;  // of bytes_
  // A thread, or then the kernel, works on the steps before the size.
  bool invalidating_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::tree
