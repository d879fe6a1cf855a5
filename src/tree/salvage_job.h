// SalvageJob: salvages a tree's file in a thread of its own while requests wait for it. Threads: any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "h5mount/base/request_budget.h"
#include "h5mount/base/thread_annotations.h"
#include "source_tree.h"

namespace h5mount::tree {

class SalvageJob {
 public:
  using Make = std::function<Result<std::shared_ptr<SourceTree>>(const std::function<bool()>& go_on)>;

  // `name`: of the file, for messages.
  SalvageJob(Make make, std::string name, std::uint64_t file_bytes)
      : make_(std::move(make)), name_(std::move(name)), file_bytes_(file_bytes) {}
  ~SalvageJob();

  // Waits for the salvaged file's tree; null if it shows no more than the file itself, or if it cannot be
  // made. An error is either the request's own, or one of salvaging that may pass: the next request then
  // tries again.
  Result<std::shared_ptr<SourceTree>> wait(RequestBudget& budget);
  // The salvaged file's tree; null if there is none yet.
  std::shared_ptr<SourceTree> result() const;

 private:
  Status begin() H5_REQUIRES(mutex_);
  void work();

  const Make make_;
  const std::string name_;
  const std::uint64_t file_bytes_;
  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  Condition changed_;
  bool running_ H5_GUARDED_BY(mutex_) = false;
  bool done_ H5_GUARDED_BY(mutex_) = false;
  std::size_t waiting_ H5_GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<SourceTree> tree_ H5_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace h5mount::tree
