// JobQueue: threads that read trees for the event loops. A job may take long. Threads: any.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::serve {

class JobQueue {
 public:
  explicit JobQueue(unsigned threads);
  // Waits for the jobs that run; the others are not begun.
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // `job` must not throw.
  void submit(std::function<void()> job);

 private:
  void run();

  Mutex mutex_;
  Condition wake_;
  std::deque<std::function<void()>> jobs_ H5_GUARDED_BY(mutex_);
  bool ending_ H5_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace h5mount::serve
