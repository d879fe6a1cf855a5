// CopyJobs: jobs of one producer, run by several threads in the order of submission. `close` ends the
// threads.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::front {

class CopyJobs {
 public:
  explicit CopyJobs(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~CopyJobs() { close(); }
  CopyJobs(const CopyJobs&) = delete;
  CopyJobs& operator=(const CopyJobs&) = delete;

  // Waits while the queue is full.
  void add(std::function<void()> job) {
    MutexLock lock(mutex_);
    while (queue_.size() >= kMaxQueued) taken_.wait(lock);
    queue_.push_back(std::move(job));
    given_.notify_one();
  }

  // Waits until all jobs are done.
  void close() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    given_.notify_all();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  static constexpr std::size_t kMaxQueued = 64;  // each holds its directory open

  void run() {
    while (true) {
      MutexLock lock(mutex_);
      while (!closed_ && queue_.empty()) given_.wait(lock);
      if (queue_.empty()) return;
      const auto job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      taken_.notify_one();
      job();
    }
  }

  Mutex mutex_;
  Condition given_, taken_;
  std::deque<std::function<void()>> queue_ H5_GUARDED_BY(mutex_);
  bool closed_ H5_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace h5mount::front
