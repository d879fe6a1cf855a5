// On SIGUSR1 the log is told what has been done so far: chunks decoded, bytes read, what the cache holds and how much
// memory the program has had at most. For benchmarks, and for whoever wonders what a mount is at.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "h5mount/cache/block_cache.h"

namespace h5mount::cli {

// To be made before any other thread, which then leave the signal to this one.
class StatusReport {
 public:
  explicit StatusReport(std::shared_ptr<BlockCache> cache);
  ~StatusReport();
  StatusReport(const StatusReport&) = delete;
  StatusReport& operator=(const StatusReport&) = delete;

 private:
  void wait_for_signals();

  std::shared_ptr<BlockCache> cache_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace h5mount::cli
