#include "h5mount/base/job_queue.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "h5mount/base/thread.h"

namespace h5mount {
namespace {

constexpr std::chrono::seconds kIdles{10};  // a thread that is too many ends after this time

}  // namespace

JobQueue::JobQueue(const Options& options) : options_(options) {
  if (options_.max_threads > options_.threads)
    check_.emplace(options_.patience, [this](Clock::time_point now) { return check(now); });
  const MutexLock lock(mutex_);
  start_workers(options_.threads);
}

JobQueue::~JobQueue() {
  stop();
}

bool JobQueue::submit(Job job) {
  {
    MutexLock lock(mutex_);
    while (!ended_ && jobs_.size() >= options_.limit) taken_.wait(lock);
    if (ended_) return false;
    jobs_.push_back(std::move(job));
  }
  given_.notify_one();
  if (check_) check_->wake();
  return true;
}

void JobQueue::drain() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  join_all();
}

void JobQueue::stop() {
  {
    std::deque<Job> dropped;  // destroyed without the lock
    const MutexLock lock(mutex_);
    if (!std::exchange(ended_, true)) dropped.swap(jobs_);
  }
  join_all();
}

void JobQueue::stop_with(Job last) {
  std::deque<Job> dropped;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(ended_, true)) return;
    dropped.swap(jobs_);
    jobs_.push_back(std::move(last));
  }
  given_.notify_all();
  taken_.notify_all();
}

// The queue has ended, so threads are started only for jobs that still wait.
void JobQueue::join_all() {
  given_.notify_all();
  taken_.notify_all();
  for (;;) {
    std::thread thread;
    {
      const MutexLock lock(mutex_);
      const auto running =
          std::ranges::find_if(workers_, [](const Worker& w) { return w.thread.joinable(); });
      if (running == workers_.end()) return;
      thread = std::move(running->thread);
    }
    thread.join();
  }
}

bool JobQueue::wait_for_job(Worker& self, MutexLock& lock) {
  while (jobs_.empty()) {
    if (ended_) return false;
    ++idle_;
    bool woken = true;
    if (too_many())
      woken = given_.wait_for(lock, kIdles);
    else
      given_.wait(lock);
    --idle_;
    if (!woken && jobs_.empty() && too_many()) {
      self.leaving = true;  // the next look joins it
      ++leaving_;
      return false;
    }
  }
  return true;
}

void JobQueue::run(Worker& self) {
  MutexLock lock(mutex_);
  while (wait_for_job(self, lock)) {
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (check_) self.began = Clock::now();
    lock.unlock();
    taken_.notify_one();
    run_guarded(options_.name, job);
    job = nullptr;  // what it holds may be large
    lock.lock();
    self.began.reset();
    if (std::exchange(self.away, false)) --away_;
  }
}

void JobQueue::start_workers(std::size_t wanted) {
  for (; wanted > 0; --wanted) {
    Worker& worker = workers_.emplace_back();
    try {
      worker.thread = start_thread(options_.name, [this, &worker] { run(worker); });
    } catch (const std::exception&) {  // no thread, or no memory for one
      workers_.pop_back();
      if (workers_.empty()) throw;  // else the jobs wait for the threads that there are
      return;
    }
  }
}

bool JobQueue::check(Clock::time_point now) {
  const MutexLock lock(mutex_);
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    if (worker->leaving && worker->thread.joinable()) {
      worker->thread.join();
      worker = workers_.erase(worker);
      --leaving_;
      continue;
    }
    if (worker->began && !worker->away && now - *worker->began > options_.patience) {
      worker->away = true;
      ++away_;
    }
    ++worker;
  }
  // If many jobs take long, the number of threads doubles at each look.
  const std::size_t wanted =
      std::min<std::size_t>(away_ + std::max<std::size_t>(options_.threads, away_), options_.max_threads);
  if (!jobs_.empty() && idle_ == 0 && staying() < wanted) start_workers(wanted - staying());
  return !jobs_.empty() || idle_ < staying() || too_many();
}

}  // namespace h5mount
