// Which lock guards which member, in the terms of clang's thread safety analysis (-Wthread-safety,
// scripts/check_all.sh threads); nothing for other compilers. libstdc++'s std::mutex carries no annotations,
// so that guarded members need `Mutex` and `MutexLock`, which are std::mutex and std::lock_guard with them.
#pragma once

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
 public:
  void lock() H5_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() H5_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class H5_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) H5_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() H5_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace h5mount
