// JobQueue: threads that read trees for the event loops. A job may take long, or wait for a source that
// hangs; it must not hold up those of other clients. So jobs that are known to be long (Pace::Long: their
// request has taken long before) run on a few threads at a time only, and where jobs that were thought to be
// quick take long after all, more threads are started for those that wait. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::serve {

enum class Pace : std::uint8_t { Quick, Long };

class JobQueue {
 public:
  struct Threads {
    unsigned quick;  // that are always there for quick jobs
    unsigned slow;   // of Pace::Long, that run at a time
    unsigned most;   // together, when jobs hang
  };
  explicit JobQueue(const Threads& threads);
  // Waits for the jobs that run; the others are not begun.
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // `job` must not throw. Jobs begin in the order in which they came, but for long ones that wait for a
  // place.
  void submit(Pace pace, std::function<void()> job);

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::function<void()> work;
    Clock::time_point came;
  };
  struct Worker {
    std::thread thread;
    std::optional<Clock::time_point> began;  // the job that it runs
    bool away = false;                       // it runs one that is no longer quick
    bool has_place = false;                  // of the long ones
    bool ended = false;
  };
  using Jobs = std::deque<Job>;

  void run(Worker& self);
  void watch();
  void look(Clock::time_point now) H5_REQUIRES(mutex_);
  void start_workers(std::size_t wanted) H5_REQUIRES(mutex_);
  void finish(Worker& worker) H5_REQUIRES(mutex_);
  Jobs* next_jobs() H5_REQUIRES(mutex_);
  unsigned kept() const { return threads_.quick + threads_.slow; }

  const Threads threads_;
  Mutex mutex_;
  Condition wake_, watch_wake_;
  Jobs quick_ H5_GUARDED_BY(mutex_), long_ H5_GUARDED_BY(mutex_);
  std::list<Worker> workers_ H5_GUARDED_BY(mutex_);
  std::size_t idle_ H5_GUARDED_BY(mutex_) = 0, away_ H5_GUARDED_BY(mutex_) = 0;
  unsigned places_taken_ H5_GUARDED_BY(mutex_) = 0;
  bool ending_ H5_GUARDED_BY(mutex_) = false;
  bool watch_rests_ H5_GUARDED_BY(mutex_) = false;  // there is nothing to look at
  std::thread watch_;
};

}  // namespace h5mount::serve
