// OnceValue: a value computed on first use, by one caller while the others wait. No lock is held during the
// computation. A failure is returned to all waiters and not kept: the next caller tries again; so does a
// waiter where the failure concerns the first caller's request alone. Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "h5mount/base/error.h"
#include "h5mount/base/request_budget.h"

namespace h5mount {

template <class T>
class OnceValue {
 public:
  // `budget` (may be null): that of the request, which ends its waiting too.
  template <class Make>
  Result<T> get(Make&& make, RequestBudget* budget = nullptr) {
    std::unique_lock lock(mutex_);
    while (!value_ && making_)
      if (std::optional<Result<T>> joined = join(lock, budget)) return *std::move(joined);
    if (value_) return *value_;
    making_ = true;
    lock.unlock();
    Finish finish{*this, std::nullopt};  // releases the waiters also where `make` throws
    finish.result = make();
    return *finish.result;
  }

  // The same, but a failure that other requests would meet as well is kept.
  template <class Make>
  Result<T> get_once(Make&& make, RequestBudget* budget) {
    {
      const std::lock_guard lock(mutex_);
      if (lasting_) return fail(*lasting_);
    }
    Result<T> made = get(
        [&]() -> Result<T> {
          Result<T> result = make();
          if (!result && meets_all_requests(result.error())) {
            const std::lock_guard lock(mutex_);
            lasting_ = result.error();
          }
          return result;
        },
        budget);
    return made;
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

  // Waits for the running computation. Nothing where the caller is to try itself.
  std::optional<Result<T>> join(std::unique_lock<std::mutex>& lock, RequestBudget* budget) {
    constexpr std::chrono::milliseconds kLook{50};
    const std::uint64_t round = round_;
    const auto ended = [&] { return round_ != round; };
    while (!done_.wait_for(lock, kLook, ended))
      if (Status goes_on = spend(budget, 0); !goes_on) return fail(std::move(goes_on).error());
    if (value_) return *value_;
    if (lasting_) return fail(*lasting_);
    if (failure_ && !concerns_one_request(*failure_)) return fail(*failure_);
    return std::nullopt;
  }

  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::optional<T> value_;
  std::optional<Error> failure_;
  std::optional<Error> lasting_;  // see get_once
  std::uint64_t round_ = 0;
  bool making_ = false;
};

}  // namespace h5mount
