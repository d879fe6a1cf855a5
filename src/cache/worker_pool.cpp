#include "h5mount/cache/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <list>
#include <thread>
#include <vector>

#include "h5mount/base/log.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::cache {

namespace {

// A running for_each_index, whose indices are taken one at a time, by the caller and by workers.
struct Call {
  std::atomic<std::size_t> next{0};
  std::size_t count = 0;
  const std::function<void(std::size_t)>* job = nullptr;  // valid while an index is left, or runs
  Mutex mutex;
  Condition done;
  std::size_t finished H5_GUARDED_BY(mutex) = 0;
  std::exception_ptr failure H5_GUARDED_BY(mutex);
  std::optional<Error> momentary H5_GUARDED_BY(mutex);

  // Runs the job of one index; returns false if none is left.
  bool run_one() {
    const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i >= count) return false;
    std::exception_ptr thrown;
    const MomentaryWatch watch;
    try {
      (*job)(i);
    } catch (...) {
      thrown = std::current_exception();
    }
    const MutexLock lock(mutex);
    if (thrown && !failure) failure = thrown;
    if (watch.met()) momentary = watch.met();
    if (++finished == count) done.notify_all();
    return true;
  }
};
using CallPtr = std::shared_ptr<Call>;

}  // namespace

struct WorkerPool::Impl {
  Mutex mutex;
  Condition wake;
  std::deque<std::function<void()>> jobs H5_GUARDED_BY(mutex);
  std::list<CallPtr> calls H5_GUARDED_BY(mutex);  // the next to be helped first
  std::atomic<std::size_t> call_count = 0;        // of `calls`, to be asked without the mutex
  bool stopping H5_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads;

  void add(const CallPtr& call) H5_REQUIRES(mutex) {
    calls.push_back(call);
    call_count = calls.size();
  }
  void remove(const CallPtr& call) H5_REQUIRES(mutex) {
    calls.remove(call);
    call_count = calls.size();
  }

  // Calls come before queued jobs, which nobody waits for. The indices of several calls are taken in turn, so
  // that a call whose jobs take long leaves the others their share of the workers.
  void work() {
    MutexLock lock(mutex);
    for (;;) {
      while (!stopping && calls.empty() && jobs.empty()) wake.wait(lock);
      if (stopping) return;
      if (!calls.empty()) {
        const CallPtr call = calls.front();
        calls.splice(calls.end(), calls, calls.begin());
        lock.unlock();
        bool ran = call->run_one();
        while (ran && call_count.load(std::memory_order_relaxed) <= 1) ran = call->run_one();
        lock.lock();
        if (!ran) remove(call);
        continue;
      }
      {
        const std::function<void()> job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        run_guarded("a background job", job);
      }  // without the lock: what a job holds may be the last owner of the pool
      lock.lock();
    }
  }
};

WorkerPool::WorkerPool(unsigned threads) : impl_(std::make_shared<Impl>()) {
  try {
    for (unsigned i = 0; i < std::max(1U, threads); ++i)
      impl_->threads.push_back(start_thread("h5-decode", [impl = impl_] { impl->work(); }));
  } catch (const std::exception& error) {  // a limit on threads or memory: callers work alone
    log(LogLevel::Warning, "only {} of {} worker threads could be started: {}", impl_->threads.size(),
        threads, error.what());
  }
}

WorkerPool::~WorkerPool() {
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->jobs.clear();
  }
  impl_->wake.notify_all();
  for (std::thread& thread : impl_->threads) {
    // If a job was the last owner of the pool, this is one of the pool's own threads, which cannot join
    // itself.
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
}

bool WorkerPool::submit(std::function<void()> job, std::size_t limit) {
  {
    const MutexLock lock(impl_->mutex);
    if (impl_->stopping || impl_->threads.empty() || impl_->jobs.size() >= limit) return false;
    impl_->jobs.push_back(std::move(job));
  }
  impl_->wake.notify_one();
  return true;
}

unsigned WorkerPool::threads() const {
  return static_cast<unsigned>(impl_->threads.size());
}

void WorkerPool::for_each_index(std::size_t count, const std::function<void(std::size_t)>& job) {
  if (count == 0) return;
  const auto call = std::make_shared<Call>();
  call->count = count;
  call->job = &job;
  const bool helped = count > 1 && threads() > 0;
  if (helped) {
    note_long_work();
    {
      const MutexLock lock(impl_->mutex);
      if (!impl_->stopping) impl_->add(call);
    }
    impl_->wake.notify_all();
  }
  while (call->run_one()) {
  }
  if (helped) {
    const MutexLock lock(impl_->mutex);
    impl_->remove(call);
  }
  MutexLock lock(call->mutex);
  while (call->finished != count) call->done.wait(lock);
  if (call->momentary) note_momentary(*call->momentary);
  if (call->failure) std::rethrow_exception(call->failure);
}

}  // namespace h5mount::cache
