#include "h5mount/cache/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "h5mount/base/log.h"
#include "h5mount/base/long_work.h"

namespace h5mount::cache {

namespace {
constexpr std::size_t kMaxQueued = 4096;
}

struct WorkerPool::Impl {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> jobs;
  std::vector<std::thread> threads;
  bool stopping = false;

  static void run_guarded(const std::function<void()>& job) {
    try {
      job();
    } catch (const std::exception& e) {
      log(LogLevel::Error, "a background job failed: {}", e.what());
    } catch (...) {
      log(LogLevel::Error, "a background job failed");
    }
  }

  void work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stopping || !jobs.empty(); });
        if (stopping) return;
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      run_guarded(job);
    }
  }
};

WorkerPool::WorkerPool(unsigned threads) : impl_(std::make_shared<Impl>()) {
  // Signals that end the program are handled by the thread that waits to unmount.
  sigset_t ending, before;
  sigemptyset(&ending);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ending, s);
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  try {
    for (unsigned i = 0; i < std::max(1U, threads); ++i)
      impl_->threads.emplace_back([impl = impl_] { impl->work(); });
  } catch (const std::system_error& error) {  // a limit on threads or memory: callers work alone
    log(LogLevel::Warning, "only {} of {} worker threads could be started: {}", impl_->threads.size(),
        threads, error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->jobs.clear();
  }
  impl_->wake.notify_all();
  for (std::thread& thread : impl_->threads) {
    // Where the last owner was a job, this is one of the pool's own threads, which cannot join itself.
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
}

bool WorkerPool::submit(std::function<void()> job, std::size_t limit) {
  {
    const std::lock_guard lock(impl_->mutex);
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
  // Shared with jobs that may start only after all indices are done and this call has returned.
  struct Shared {
    std::atomic<std::size_t> next{0};
    std::size_t count;
    const std::function<void(std::size_t)>* job;  // valid while next < count, that is while the caller waits
    std::mutex mutex;
    std::condition_variable done;
    std::size_t finished = 0;
    std::exception_ptr failure;

    void take_part() {
      for (;;) {
        const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= count) return;
        std::exception_ptr thrown;
        try {
          (*job)(i);
        } catch (...) {
          thrown = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        if (thrown && !failure) failure = thrown;
        if (++finished == count) done.notify_all();
      }
    }
  };
  auto shared = std::make_shared<Shared>();
  shared->count = count;
  shared->job = &job;
  const std::size_t helpers = std::min<std::size_t>(count - 1, threads());
  if (helpers > 0) note_long_work();
  {
    // At the front of the queue: a caller waits for these, while queued jobs are read-ahead.
    const std::lock_guard lock(impl_->mutex);
    // Where workers are stuck, helpers of calls that have returned stay in the queue.
    if (!impl_->stopping && impl_->jobs.size() < kMaxQueued)
      for (std::size_t i = 0; i < helpers; ++i) impl_->jobs.emplace_front([shared] { shared->take_part(); });
  }
  if (helpers > 0) impl_->wake.notify_all();
  shared->take_part();
  std::unique_lock lock(shared->mutex);
  shared->done.wait(lock, [&] { return shared->finished == shared->count; });
  if (shared->failure) std::rethrow_exception(shared->failure);
}

}  // namespace h5mount::cache
