// What a mount has done so far: requests, bytes, chunks, what the cache holds, what went wrong, memory. As
// the text of
// /.h5/status, and on SIGUSR1 as one line in the log. For whoever wonders what a mount is at, and for
// benchmarks.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "h5mount/cache/block_cache.h"
#include "h5mount/object/file_set.h"

namespace h5mount::cli {

// Threads: any.
class MountStatus {
 public:
  // `file`: as messages name it.
  MountStatus(std::string file, std::shared_ptr<cache::BlockCache> cache);

  // The files that are open now; they are not kept open for it.
  void set_files(const std::shared_ptr<object::FileSet>& files);

  std::string text() const;  // a line each: "name: value"
  std::string line() const;  // "file: status: name=value name=value…", numbers only

 private:
  struct Counter {
    std::string_view name;
    std::uint64_t value;
  };
  std::shared_ptr<object::FileSet> files() const;
  std::vector<Counter> counters() const;

  const std::string file_;
  mutable std::mutex mutex_;
  std::weak_ptr<object::FileSet> files_;  // guarded by mutex_
  const std::shared_ptr<cache::BlockCache> cache_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Answers SIGUSR1. To be made before any other thread, which then leave the signal to this one.
class StatusReport {
 public:
  explicit StatusReport(std::shared_ptr<const MountStatus> status);
  ~StatusReport();
  StatusReport(const StatusReport&) = delete;
  StatusReport& operator=(const StatusReport&) = delete;

 private:
  void wait_for_signals();

  std::shared_ptr<const MountStatus> status_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace h5mount::cli
