// WorkerPool: a fixed number of threads for decoding and read-ahead. Signals that end the program are blocked
// in them. An exception in a job is caught, logged and counted, never passed on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace h5mount::cache {

class WorkerPool {
 public:
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();  // drops what has not begun, waits for what has

  // Queues a job; false (and not queued) where `limit` jobs wait already: read-ahead is optional work.
  bool submit(std::function<void()> job, std::size_t limit = 1024);

  // Runs job(0) … job(count - 1) on the workers and on the calling thread, which takes part, so that it also
  // ends when every worker is busy. Returns when all are done.
  void for_each_index(std::size_t count, const std::function<void(std::size_t)>& job);

  unsigned threads() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace h5mount::cache
