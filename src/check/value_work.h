// ValueWork: bounds the work for values that refer to the file's heaps, whose objects a hostile file can
// share among any number of values. Threads: any.
#pragma once

#include <algorithm>
#include <atomic>

#include "h5mount/base/limits.h"
#include "h5mount/base/request_budget.h"
#include "tally.h"

namespace h5mount::check {

class ValueWork {
 public:
  ValueWork(std::uint64_t file_bytes, Tally& tally)
      : tally_(tally),
        left_(static_cast<std::int64_t>(kSteps + kStepsPerFileByte * std::min(file_bytes, kMaxFileBytes))) {}

  // Calls work(RequestBudget&), which gets a budget of its own, and charges the file with what it spent
  // beyond `free_steps`. Fails with BudgetExceeded, without a call, once everything is spent, and with
  // Interrupted if the check is to end.
  template <class Work>
  Status run(std::uint64_t free_steps, const Work& work) {
    if (left_.load(std::memory_order_relaxed) <= 0)
      return fail(Error(ErrorCode::BudgetExceeded,
                        "not checked: values refer to more than is followed in a "
                        "file of this length"));
    RequestBudget budget(RequestBudget::Bounds{kSteps + free_steps, RequestBudget::unbounded().time});
    budget.poll([](void* tally) { return !static_cast<Tally*>(tally)->go_on(); }, &tally_);
    Status done = work(budget);
    const std::uint64_t spent = budget.spent();
    left_.fetch_sub(static_cast<std::int64_t>(spent - std::min(spent, free_steps)),
                    std::memory_order_relaxed);
    if (!done && done.error().code() == ErrorCode::BudgetExceeded)
      return fail(
          Error(ErrorCode::BudgetExceeded, "not checked to its end: it refers to more than is followed"));
    return done;
  }

 private:
  // Sound values cost some 50 steps for each byte in the file's heaps.
  static constexpr std::uint64_t kSteps = limits::kRequestSteps;
  static constexpr std::uint64_t kStepsPerFileByte = 256;
  static constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 48;

  Tally& tally_;
  std::atomic<std::int64_t> left_;
};

}  // namespace h5mount::check
