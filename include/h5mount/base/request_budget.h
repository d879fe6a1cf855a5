// RequestBudget: how much work one request may cause. It is made when the request arrives and passed to
// everything that works for it, in the worker pool too. Loops that a file drives charge it with `spend`; a
// front end says when nobody waits for the answer any more (`interrupt`, `poll`).
//
// Work is counted in steps of about a nanosecond of one core (limits::kRequestSteps): a byte decoded is one.
// So what a request may do does not depend on the machine's load. The time bound is far above that; it ends
// requests that wait (for a source, a plugin, a writer). Both grow with the bytes of the files that the
// request is about: see allow_for. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount {

// The milliseconds spent waiting for writers of the file (metadata/torn_retry.h), by one request or by those
// that share it: all requests for one directory listing.
struct PauseBudget {
  std::atomic<std::int64_t> spent_ms = 0;
  std::atomic<bool> logged = false;  // whether it was logged that it is spent
};

class RequestBudget {
 public:
  struct Bounds {
    std::uint64_t steps;
    std::chrono::milliseconds time;
  };
  RequestBudget();  // limits::kRequestSteps, limits::kRequestMilliseconds
  explicit RequestBudget(Bounds bounds);
  static Bounds unbounded();  // for work that no request waits for
  RequestBudget(const RequestBudget&) = delete;
  RequestBudget& operator=(const RequestBudget&) = delete;

  // Raises the bounds to those for a file of that size, which the request is about. Cheap.
  void allow_for(std::uint64_t file_bytes);
  // Raises the bounds for one more file that the request reads.
  void allow_more(std::uint64_t file_bytes);

  // Charges work that was done or is about to be done. Errors: Interrupted, BudgetExceeded, TimedOut. After a
  // failure every further call fails.
  Status spend(std::uint64_t steps);
  Status check() { return spend(0); }

  void interrupt() { interrupted_.store(true, std::memory_order_relaxed); }
  // Any thread that works for the request calls `asked(data)` now and then to find out whether the request is
  // to be interrupted; null: no longer. While this function is called, no other thread may use this budget.
  using Asked = bool (*)(void* data);
  void poll(Asked asked, void* data) {
    asked_ = asked;
    asked_data_ = data;
  }

  std::uint64_t spent() const { return spent_.load(std::memory_order_relaxed); }

  PauseBudget& pauses() { return shared_pauses_ ? *shared_pauses_ : own_pauses_; }
  // From now on uses a budget of pauses that others share. While this function is called, no other thread may
  // use this budget.
  void share_pauses(std::shared_ptr<PauseBudget> pauses) { shared_pauses_ = std::move(pauses); }

 private:
  Status charge(std::uint64_t steps);
  Error exceeded(std::uint64_t spent) const;

  const Bounds bounds_;
  std::atomic<std::uint64_t> spent_ = 0;
  std::atomic<std::uint64_t> allowed_;
  std::atomic<std::int64_t> milliseconds_;
  std::atomic<bool> interrupted_ = false;
  Asked asked_ = nullptr;
  void* asked_data_ = nullptr;
  const std::chrono::steady_clock::time_point began_;  // of a time without bound: not known
  PauseBudget own_pauses_;
  std::shared_ptr<PauseBudget> shared_pauses_;  // null: its own
};

// A budget without bounds as an argument, for work that is not part of a request: `Unbounded()`. It lives as
// long as the call, and reads no clock.
class Unbounded {
 public:
  operator RequestBudget&() { return budget_; }

 private:
  RequestBudget budget_{RequestBudget::unbounded()};
};

// Whether another request for the same thing need not fail with the same error: this one was interrupted,
// waited too long, or had spent its budget on other things before.
bool concerns_one_request(const Error& error);

// Whether the error is no damage that an answer may show in place of what is missing: it is of the moment
// (is_momentary), or of this request's bounds. The request fails with it instead.
bool is_passing(const Error& error);

// Whether every request for only the same thing would fail like that as long as the bytes of the file are the
// same. BudgetExceeded belongs to both: the same work costs the same again, unless the steps were spent on
// other things.
bool meets_all_requests(const Error& error);

// Waits until `done()`, which is called with the mutex held and told of by `changed`, is true. The budget is
// asked without the mutex, as that reads /proc.
template <class Done>
Status wait_within(RequestBudget& budget, Mutex& mutex, Condition& changed, Done done)
    H5_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
  constexpr std::chrono::milliseconds kCheck{50};
  for (;;) {
    {
      MutexLock lock(mutex);
      if (done()) return {};
      changed.wait_for(lock, kCheck);
      if (done()) return {};
    }
    H5_TRY(budget.check());
  }
}

}  // namespace h5mount
