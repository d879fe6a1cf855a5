// OnceValue: a value computed on first use, by one caller while the others wait. No lock is held during the
// computation. A failure is returned to all waiters and not kept: the next caller tries again, and so does a
// waiter if the failure concerns only the first caller's request. What was made in spite of a momentary error
// counts as failed with it (base/momentary.h). Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "h5mount/base/error.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/request_budget.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount {

template <class T>
class OnceValue {
 public:
  // `budget`: that of the caller's request; it also ends its wait.
  template <class Make>
  Result<T> get(Make&& make, RequestBudget& budget) {
    for (std::shared_ptr<Round> round;;) {
      {
        const MutexLock lock(mutex_);
        if (value_) return *value_;
        if (round && lasting_) return fail(*lasting_);
        if (round && round->failure && !concerns_one_request(*round->failure))
          return noted(Result<T>(fail(*round->failure)));
        if (!std::exchange(making_, true)) break;
        if (!waited_for_) waited_for_ = std::make_shared<Round>();
        round = waited_for_;
      }
      H5_TRY(wait_within(budget, mutex_, round->done, [&round] { return round->over; }));
    }
    Finish finish{*this, std::nullopt};  // releases the waiters even if `make` throws
    {
      const MomentaryWatch watch;
      finish.result = watch.unless_met(make());
    }
    if (!*finish.result) note_momentary(finish.result->error());
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

  // Nothing of it may throw: an exception of `make` may be on its way. Waiters for a computation that threw
  // try themselves.
  static_assert(std::is_nothrow_move_constructible_v<T>);
  struct Finish {
    OnceValue& owner;
    std::optional<Result<T>> result;
    ~Finish() {
      const MutexLock lock(owner.mutex_);
      owner.making_ = false;
      if (result && *result) owner.value_.emplace(std::move(**result));
      if (!owner.waited_for_) return;
      Round& round = *owner.waited_for_;
      round.over = true;
      if (result && !*result) round.failure = result->error();
      round.done.notify_all();
      owner.waited_for_.reset();
    }
  };

  // There are many of these objects, and hardly one is waited for or fails: what that needs is allocated only
  // then.
  mutable Mutex mutex_;
  std::optional<T> value_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<Round> waited_for_ H5_GUARDED_BY(mutex_);
  std::unique_ptr<const Error> lasting_ H5_GUARDED_BY(mutex_);  // see get_once
  bool making_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount
