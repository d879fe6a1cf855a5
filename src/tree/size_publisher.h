// SizePublisher: the size of one growing dataset's file as stat gives it to the kernel.
//
// A new size may be seen only after the kernel has dropped the pages that the growth made wrong: else it
// would serve them as the bytes before the new end. Dropping a page waits for the reads of it that are under
// way. So a new version is published in three steps: the stale ranges are found out, the kernel is asked to
// drop them, and when it has, the size is replaced. Until then stat gives the old size, and the kernel is to
// ask again. Threads: any; no lock is held while anything is read; the wait is for the end of these steps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

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

  // Publishes the size of a version; later versions have higher numbers, from 1 on. `stale` gives the ranges
  // that the version makes stale; it is called by one thread, once a version. Waits a moment for the kernel;
  // null: no kernel keeps pages. Returns what is published then.
  Size publish(KernelPages* kernel, NodeId node, std::uint64_t version, std::uint64_t bytes,
               const std::function<Ranges()>& stale);

 private:
  class Step;
  void finish(std::uint64_t version, std::uint64_t bytes);

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable finished_;
  std::uint64_t bytes_ = 0;
  std::uint64_t version_ = 0;  // of bytes_
  bool invalidating_ = false;  // a thread, and then the kernel, is at the steps before the size
};

}  // namespace h5mount::tree
