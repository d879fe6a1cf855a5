#include "job_queue.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace h5mount::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{50};
constexpr milliseconds kQuick{50};      // a job that runs for longer is not counted on any more
constexpr milliseconds kWaits{1000};    // one that runs for longer waits for something rather than works
constexpr milliseconds kIdles{10'000};  // a superfluous thread ends after this time

}  // namespace

JobQueue::JobQueue(const Threads& threads) : threads_(threads) {
  const MutexLock lock(mutex_);
  start_workers(kept());
  watch_ = std::thread([this] { watch(); });
}

JobQueue::~JobQueue() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  watch_wake_.notify_all();
  watch_.join();
  // No thread is started any more.
  std::list<Worker> workers;
  {
    const MutexLock lock(mutex_);
    workers.swap(workers_);
  }
  for (Worker& worker : workers) worker.thread.join();
}

void JobQueue::submit(Pace pace, std::function<void()> job) {
  {
    const MutexLock lock(mutex_);
    (pace == Pace::Quick ? quick_ : long_).push_back({std::move(job), Clock::now()});
    if (watch_rests_) watch_wake_.notify_one();
    watch_rests_ = false;
  }
  wake_.notify_one();
}

// The jobs of which the next one may begin; null: none.
JobQueue::Jobs* JobQueue::next_jobs() {
  Jobs* const slow = !long_.empty() && places_taken_ < threads_.slow ? &long_ : nullptr;
  if (quick_.empty()) return slow;
  return slow != nullptr && slow->front().came < quick_.front().came ? slow : &quick_;
}

void JobQueue::finish(Worker& worker) {
  if (worker.away) --away_;
  if (worker.has_place) --places_taken_;
  // A long job may have waited for the place.
  if (worker.has_place && !long_.empty()) wake_.notify_one();
  worker.away = worker.has_place = false;
  worker.began.reset();
}

void JobQueue::run(Worker& self) {
  MutexLock lock(mutex_);
  for (;;) {
    Jobs* jobs = next_jobs();
    while (jobs == nullptr && !ending_) {
      ++idle_;
      const bool woken = wake_.wait_for(lock, kIdles);
      --idle_;
      jobs = next_jobs();
      if (jobs == nullptr && !woken && workers_.size() > kept() + away_) {
        self.ended = true;  // the watch joins it
        return;
      }
    }
    if (ending_) return;
    const std::function<void()> work = std::move(jobs->front().work);
    self.has_place = jobs == &long_;
    if (self.has_place) ++places_taken_;
    jobs->pop_front();
    self.began = Clock::now();
    lock.unlock();
    work();
    lock.lock();
    finish(self);
  }
}

void JobQueue::start_workers(std::size_t wanted) {
  for (; wanted > 0 && workers_.size() < threads_.most; --wanted) {
    Worker& worker = workers_.emplace_back();
    try {
      worker.thread = std::thread([this, &worker] { run(worker); });
    } catch (const std::system_error&) {
      workers_.pop_back();
      if (workers_.empty()) throw;  // else the jobs wait for the threads that there are
      return;
    }
  }
}

void JobQueue::look(Clock::time_point now) {
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    if (worker->ended) {
      worker->thread.join();
      worker = workers_.erase(worker);
      continue;
    }
    if (worker->began && !worker->away && now - *worker->began > kQuick) {
      worker->away = true;
      ++away_;
    }
    // The work of long jobs is bounded by their number; what hangs does no work, and others may.
    if (worker->has_place && now - *worker->began > kWaits) {
      worker->has_place = false;
      --places_taken_;
      wake_.notify_one();
    }
    ++worker;
  }
  // Where many jobs are long, twice as many threads are there after each look.
  const std::size_t wanted = away_ + std::max<std::size_t>(kept(), away_);
  const Jobs* const waiting = next_jobs();
  const bool waits = waiting != nullptr && now - waiting->front().came > kQuick;
  if (waits && idle_ == 0 && workers_.size() < wanted) start_workers(wanted - workers_.size());
}

void JobQueue::watch() {
  MutexLock lock(mutex_);
  while (!ending_) {
    watch_rests_ = quick_.empty() && long_.empty() && idle_ == workers_.size();
    watch_wake_.wait_for(lock, watch_rests_ ? kIdles : kTick);
    watch_rests_ = false;
    look(Clock::now());
  }
}

}  // namespace h5mount::serve
