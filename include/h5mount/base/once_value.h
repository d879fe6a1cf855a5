// OnceValue: a value computed on first use, by one caller while the others wait. No lock is held during the
// computation. A failure is returned to all waiters and not kept: the next caller tries again, and so does a
// waiter if the failure concerns only the first caller's request. Threads: any.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "h5mount/base/error.h"
#include "h5mount/base/request_budget.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount {

template <class T>
class OnceValue {
 public:
  // `budget`: that of the caller's request; it also ends its wait.
  template <class Make>
  Result<T> get(Make&& make, RequestBudget& budget) {
    MutexLock lock(mutex_);
    while (!value_ && making_)
      if (std::optional<Result<T>> joined = join(lock, budget)) return *std::move(joined);
    if (value_) return *value_;
    making_ = true;
    lock.unlock();
    Finish finish{*this, std::nullopt};  // releases the waiters even if `make` throws
    finish.result = make();
    return *finish.result;
  }

  // The same, but a failure that other requests would meet as well is kept.
  template <class Make>
  Result<T> get_once(Make&& make, RequestBudget& budget) {
    {
      const MutexLock lock(mutex_);
      if (lasting_) return fail(*lasting_);
    }
    Result<T> made = get(
        [&]() -> Result<T> {
          Result<T> result = make();
          if (!result && meets_all_requests(result.error())) {
            const MutexLock lock(mutex_);
            lasting_ = std::make_unique<const Error>(result.error());
          }
          return result;
        },
        budget);
    return made;
  }

  // The value if it has been computed; does not wait.
  std::optional<T> peek() const {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  // State shared by the callers that wait for one computation. The owner's mutex guards its members.
  struct Round {
    Condition done;
    bool over = false;
    std::optional<Error> failure;
  };

  struct Finish {
    OnceValue& owner;
    std::optional<Result<T>> result;
    ~Finish() {
      const MutexLock lock(owner.mutex_);
      owner.making_ = false;
      if (result && *result) owner.value_ = **result;
      if (!owner.waited_for_) return;
      Round& round = *owner.waited_for_;
      round.over = true;
      if (!result)
        round.failure = Error(ErrorCode::Internal, "interrupted");
      else if (!*result)
        round.failure = result->error();
      round.done.notify_all();
      owner.waited_for_.reset();
    }
  };

  // Waits for the running computation. Returns nullopt if the caller should try itself.
  std::optional<Result<T>> join(MutexLock& lock, RequestBudget& budget) H5_REQUIRES(mutex_) {
    constexpr std::chrono::milliseconds kLook{50};
    if (!waited_for_) waited_for_ = std::make_shared<Round>();
    const std::shared_ptr<Round> round = waited_for_;
    while (!round->over)
      if (!round->done.wait_for(lock, kLook))
        if (Status goes_on = budget.check(); !goes_on) return fail(std::move(goes_on).error());
    if (value_) return *value_;
    if (lasting_) return fail(*lasting_);
    if (round->failure && !concerns_one_request(*round->failure)) return fail(*round->failure);
    return std::nullopt;
  }

  // There are many of these objects, and hardly one is waited for or fails: what that needs is allocated only
  // then.
  mutable Mutex mutex_;
  std::optional<T> value_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<Round> waited_for_ H5_GUARDED_BY(mutex_);
  std::unique_ptr<const Error> lasting_ H5_GUARDED_BY(mutex_);  // see get_once
  bool making_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount
