// SharedSlot: a shared_ptr that one thread replaces while others take copies of it: the newest version of
// something immutable. std::atomic<std::shared_ptr> of libstdc++ 12 releases its lock bit with relaxed order
// after a load, which is a data race (ThreadSanitizer reports it), so a mutex guards the pointer here; it is
// held for the copy only. Threads: any.
#pragma once

#include <memory>
#include <utility>

#include "h5mount/base/thread_annotations.h"

namespace h5mount {

template <class T>
class SharedSlot {
 public:
  SharedSlot() = default;
  explicit SharedSlot(std::shared_ptr<T> value) : value_(std::move(value)) {}

  std::shared_ptr<T> load() const {
    const MutexLock lock(mutex_);
    return value_;
  }

  // The old value is destroyed without the lock.
  void store(std::shared_ptr<T> value) {
    const MutexLock lock(mutex_);
    value_.swap(value);
  }

  // If the slot holds `expected`, replaces it by `value` and returns true; else sets `expected` to what the
  // slot holds.
  bool compare_exchange(std::shared_ptr<T>& expected, std::shared_ptr<T> value) {
    const MutexLock lock(mutex_);
    if (value_ != expected) return expected = value_, false;
    value_.swap(value);
    return true;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<T> value_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount
