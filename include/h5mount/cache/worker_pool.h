// WorkerPool: a fixed number of threads for decoding and read-ahead. An exception in a submitted job is
// caught and logged; one in for_each_index reaches its caller.
//
// It is not a JobQueue (base/job_queue.h) because of the order of its work: calls that somebody waits for
// come before jobs that nobody waits for, the indices of several calls are taken in turn, and the caller
// takes part. Jobs are refused if too many are queued, and `submit` never waits.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace h5mount::cache {

class WorkerPool {
 public:
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();  // drops queued jobs, waits for running ones

  // Queues a job. Returns false, without queueing it, if `limit` jobs are queued already: submitted work
  // (read-ahead) is optional.
  bool submit(std::function<void()> job, std::size_t limit = 1024);

  // Runs job(0) … job(count - 1) on the workers and on the calling thread, which takes part so that progress
  // does not depend on a free worker. Returns when all are done.
  void for_each_index(std::size_t count, const std::function<void(std::size_t)>& job);

  unsigned threads() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace h5mount::cache
