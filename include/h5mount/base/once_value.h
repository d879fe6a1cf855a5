// OnceValue: a value computed on first use, by one caller while the others wait. No lock is held during the
// computation. A failure is returned to all waiters and not kept: the next caller tries again. Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "h5mount/base/error.h"

namespace h5mount {

template <class T>
class OnceValue {
 public:
  template <class Make>
  Result<T> get(Make&& make) {
    std::unique_lock lock(mutex_);
    if (value_) return *value_;
    if (making_) return join(lock);
    making_ = true;
    lock.unlock();
    Finish finish{*this, std::nullopt};  // releases the waiters also where `make` throws
    finish.result = make();
    return *finish.result;
  }

  // The value where it has been computed; does not wait.
  std::optional<T> peek() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  struct Finish {
    OnceValue& owner;
    std::optional<Result<T>> result;
    ~Finish() {
      const std::lock_guard lock(owner.mutex_);
      owner.making_ = false;
      ++owner.round_;
      owner.failure_.reset();
      if (!result)
        owner.failure_ = Error(ErrorCode::Internal, "interrupted");
      else if (*result)
        owner.value_ = **result;
      else
        owner.failure_ = result->error();
      owner.done_.notify_all();
    }
  };

  Result<T> join(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t round = round_;
    done_.wait(lock, [&] { return round_ != round; });
    if (value_) return *value_;
    return fail(failure_ ? *failure_ : Error(ErrorCode::Internal, "not made"));
  }

  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::optional<T> value_;
  std::optional<Error> failure_;
  std::uint64_t round_ = 0;
  bool making_ = false;
};

}  // namespace h5mount
