// CopyJobs: jobs of one producer, run by several threads in the order of submission. `close` ends the
// threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return queue_.size() < kMaxQueued; });
    queue_.push_back(std::move(job));
    given_.notify_one();
  }

  // Waits until all jobs are done.
  void close() {
    {
      const std::lock_guard lock(mutex_);
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
      std::unique_lock lock(mutex_);
      given_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const auto job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      taken_.notify_one();
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable given_, taken_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool closed_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace h5mount::front
