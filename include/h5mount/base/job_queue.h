// JobQueue: jobs that the queue's own threads take in the order in which they were submitted. The queue is
// bounded, and ends in one of three ways: its jobs are done (`drain`), dropped (`stop`), or dropped in favour
// of one last job (`stop_with`). If jobs may wait for something that hangs, further threads are started for
// the jobs behind them.
//
//   JobQueue jobs({.name = "h5-copy", .threads = 4, .limit = 64});
//   jobs.submit([&] { copy(file); });
//   jobs.drain();
//
// A job that throws is logged, and the next one runs. Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"

namespace h5mount {

class JobQueue {
 public:
  using Job = std::function<void()>;
  static constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);

  struct Options {
    const char* name;      // of its threads, with static storage; at most 15 bytes
    unsigned threads = 1;  // that are always there
    std::size_t limit;     // of jobs that wait; kUnlimited if those who submit are bounded themselves
    // A job that has run for so long may hang, and its thread is no longer counted: another one is started
    // for the jobs that wait, up to `max_threads` in total. Threads that are no longer needed end after some
    // idle time.
    std::chrono::milliseconds patience{};
    unsigned max_threads = 0;  // at most `threads`: none is started
  };

  // Throws std::system_error if the system gives no thread at all; if it gives some, they do the work.
  explicit JobQueue(const Options& options);
  ~JobQueue();  // stops
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // Waits while the queue is full. Returns false if the queue has ended: the job will not run.
  bool submit(Job job);

  // Each of these ends the queue: no further job is taken. The first call decides what happens to the jobs
  // that wait.
  void drain();              // waits until all are done
  void stop();               // drops them, and waits for those that run
  void stop_with(Job last);  // drops them and adds one; does not wait

 private:
  using Clock = Watchdog::Clock;
  struct Worker {
    std::thread thread;
    std::optional<Clock::time_point> began;  // the job that it runs
    bool away = false;                       // for longer than the queue's patience
    bool leaving = false;                    // it has ended by itself, and is to be joined
  };

  void run(Worker& self);
  bool wait_for_job(Worker& self, MutexLock& lock) H5_REQUIRES(mutex_);  // false if the thread is to end
  bool check(Clock::time_point now);
  void start_workers(std::size_t wanted) H5_REQUIRES(mutex_);
  std::size_t staying() const H5_REQUIRES(mutex_) { return workers_.size() - leaving_; }
  bool too_many() const H5_REQUIRES(mutex_) { return staying() > options_.threads + away_; }
  void join_all();

  const Options options_;
  Mutex mutex_;
  Condition given_, taken_;
  std::deque<Job> jobs_ H5_GUARDED_BY(mutex_);
  std::list<Worker> workers_ H5_GUARDED_BY(mutex_);
  std::size_t idle_ H5_GUARDED_BY(mutex_) = 0, away_ H5_GUARDED_BY(mutex_) = 0,
                    leaving_ H5_GUARDED_BY(mutex_) = 0;
  bool ended_ H5_GUARDED_BY(mutex_) = false;
  std::optional<Watchdog::Check> check_;  // set if jobs may hang
};

}  // namespace h5mount
