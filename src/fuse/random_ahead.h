// RandomAhead: for a reader at random places in a small dataset, decodes pages that it may need and stores
// them in the kernel's page cache (random_pattern.h). Only while no other work waits for the workers. One per
// open file. Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "h5mount/base/thread_annotations.h"
#include "page_store.h"
#include "random_pattern.h"

namespace h5mount::fuse {

class RandomAhead : public std::enable_shared_from_this<RandomAhead> {
 public:
  explicit RandomAhead(PageTarget target);

  // Whether it is worth it: all of the dataset can be decoded once and stay in its part of a cache of so many
  // bytes, and what is decoded for a window is not far larger than the window.
  static bool fits(const object::DatasetDescription& dataset, std::uint64_t cache_bytes);

  void note(std::uint64_t offset, std::uint64_t length);
  // Jobs that are running end soon.
  void stop() { stopped_ = true; }

 private:
  void store(const RandomPattern::Ranges& ranges) const;

  const PageTarget target_;
  std::atomic<bool> stopped_ = false;
  Mutex mutex_;
  RandomPattern pattern_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
