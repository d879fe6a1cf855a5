// The counters of a mount: requests, bytes, chunks, the cache's contents, failures, memory. They are shown as
// the text of /.h5/status, and on SIGUSR1 as one line in the log. For users who want to know what a mount is
// doing, and for benchmarks.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/counters.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/forest.h"

namespace h5mount::cli {

// Threads: any.
class MountStatus {
 public:
  // `file`: its name in messages.
  MountStatus(std::string file, std::shared_ptr<cache::BlockCache> cache);

  // The files of the mount, of which there may be many; weak references.
  void set_files(const std::shared_ptr<object::FileSet>& files);
  void set_forest(const std::shared_ptr<tree::Forest>& forest);

  // The counters of the mount, which are handed down to everything that works for it.
  const std::shared_ptr<Counters>& counters() const { return counters_; }

  std::string text() const;  // a line each: "name: value"
  std::string line() const;  // "file: status: name=value name=value…", numbers only

 private:
  struct Counter {
    std::string_view name;
    std::uint64_t value;
  };
  std::shared_ptr<object::FileSet> files() const;
  std::shared_ptr<tree::Forest> forest() const;
  std::vector<Counter> numbers() const;
  std::uint64_t all_failures() const;
  void append_failures(std::string& out) const;

  const std::string file_;
  mutable Mutex mutex_;
  std::weak_ptr<object::FileSet> files_ H5_GUARDED_BY(mutex_);
  std::weak_ptr<tree::Forest> forest_ H5_GUARDED_BY(mutex_);
  const std::shared_ptr<cache::BlockCache> cache_;
  const std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Logs the line on SIGUSR1, which the main thread takes: it creates and destroys this object. One at a time.
// Throws std::system_error if the system gives no thread for the watchdog.
class StatusReport {
 public:
  explicit StatusReport(std::shared_ptr<const MountStatus> status);
  ~StatusReport();
  StatusReport(const StatusReport&) = delete;
  StatusReport& operator=(const StatusReport&) = delete;

 private:
  Watchdog::Check check_;
};

}  // namespace h5mount::cli
