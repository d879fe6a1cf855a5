// Which lock guards which member, in the terms of clang's thread safety analysis (-Wthread-safety,
// scripts/check_all.sh threads); nothing for other compilers. libstdc++'s std::mutex carries no annotations,
// so guarded members need `Mutex`, `MutexLock` and `Condition`, which are std::mutex, std::unique_lock and
// std::condition_variable with annotations. The analysis does not look into predicates of waits, so waits are
// written as loops: `while (!ready) condition.wait(lock);`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define H5_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define H5_THREAD_ATTRIBUTE(x)
#endif

#define H5_GUARDED_BY(mutex) H5_THREAD_ATTRIBUTE(guarded_by(mutex))  // a member: used only while it is held
#define H5_REQUIRES(mutex) H5_THREAD_ATTRIBUTE(requires_capability(mutex))  // a function: its caller holds it

namespace h5mount {

class H5_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

class H5_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) H5_THREAD_ATTRIBUTE(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() H5_THREAD_ATTRIBUTE(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() H5_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }
  void unlock() H5_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }

 private:
  friend class Condition;
  std::unique_lock<std::mutex> lock_;
};

class Condition {
 public:
  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  // Return false if the time has run out.
  bool wait_for(MutexLock& lock, std::chrono::nanoseconds time) {
    return condition_.wait_for(lock.lock_, time) == std::cv_status::no_timeout;
  }
  bool wait_until(MutexLock& lock, std::chrono::steady_clock::time_point end) {
    return condition_.wait_until(lock.lock_, end) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace h5mount
