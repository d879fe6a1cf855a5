#include "h5mount/base/request_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/limits.h"
#include "h5mount/base/momentary.h"

namespace h5mount {
namespace {

constexpr unsigned kClockShift = 22;  // the clock is read each time that so many steps (2^22) were charged
constexpr std::uint64_t kUnboundedSteps = 1ULL << 62;
constexpr std::int64_t kUnboundedMilliseconds = INT64_MAX / 2;

std::uint64_t steps_for(std::uint64_t file_bytes) {
  constexpr std::uint64_t kMaxBytes = limits::kMaxRequestSteps / limits::kRequestStepsPerFileByte;
  return std::min(file_bytes, kMaxBytes) * limits::kRequestStepsPerFileByte;
}

std::int64_t milliseconds_for(std::uint64_t file_bytes) {
  return static_cast<std::int64_t>(file_bytes / limits::kRequestBytesPerMillisecond);
}

template <class T>
void raise(std::atomic<T>& bound, T to) {
  T now = bound.load(std::memory_order_relaxed);
  while (now < to && !bound.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

RequestBudget::RequestBudget()
    : RequestBudget(Bounds{limits::kRequestSteps, std::chrono::milliseconds(limits::kRequestMilliseconds)}) {}

RequestBudget::RequestBudget(Bounds bounds)
    : bounds_(bounds),
      allowed_(bounds.steps),
      milliseconds_(bounds.time.count()),
      began_(bounds.time == unbounded().time ? std::chrono::steady_clock::time_point()
                                             : std::chrono::steady_clock::now()) {}

RequestBudget::Bounds RequestBudget::unbounded() {
  return {kUnboundedSteps, std::chrono::milliseconds(kUnboundedMilliseconds)};
}

void RequestBudget::allow_for(std::uint64_t file_bytes) {
  const std::uint64_t steps = steps_for(file_bytes);
  if (allowed_.load(std::memory_order_relaxed) < bounds_.steps + steps)
    raise(allowed_, bounds_.steps + steps);
  const std::int64_t milliseconds = milliseconds_for(file_bytes);
  if (milliseconds_.load(std::memory_order_relaxed) < bounds_.time.count() + milliseconds)
    raise(milliseconds_, bounds_.time.count() + milliseconds);
}

void RequestBudget::allow_more(std::uint64_t file_bytes) {
  raise(allowed_,
        std::min(allowed_.load(std::memory_order_relaxed) + steps_for(file_bytes), kUnboundedSteps));
  raise(milliseconds_, milliseconds_.load(std::memory_order_relaxed) + milliseconds_for(file_bytes));
}

Status RequestBudget::spend(std::uint64_t steps) {
  Status charged = charge(steps);
  if (!charged) [[unlikely]]
    note_momentary(charged.error());
  return charged;
}

Status RequestBudget::charge(std::uint64_t steps) {
  if (interrupted_.load(std::memory_order_relaxed))
    return fail({ErrorCode::Interrupted, "nobody waits for the answer any more"});
  // More steps than the unbounded number are charged as that number, so that the sum cannot wrap around.
  steps = std::min(steps, kUnboundedSteps);
  std::uint64_t before = spent_.load(std::memory_order_relaxed);
  if (before > kUnboundedSteps) return fail(exceeded(before));
  before = spent_.fetch_add(steps, std::memory_order_relaxed);
  const std::uint64_t spent = before + steps;
  if (spent > allowed_.load(std::memory_order_relaxed)) return fail(exceeded(spent));
  if (steps != 0 && before >> kClockShift == spent >> kClockShift) return {};
  if (asked_ != nullptr && asked_(asked_data_)) {
    interrupt();
    return charge(0);
  }
  if (bounds_.time == unbounded().time) return {};
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
  const std::int64_t most = milliseconds_.load(std::memory_order_relaxed);
  if (waited.count() <= most) return {};
  return fail({ErrorCode::TimedOut, fmt::format("not done after {} s", most / 1000)});
}

Error RequestBudget::exceeded(std::uint64_t spent) const {
  return Error(ErrorCode::BudgetExceeded, "more work than a request on a file of this size may cause")
      .with_expected(allowed_.load(std::memory_order_relaxed))
      .with_found(spent);
}

bool meets_all_requests(const Error& error) {
  const ErrorCode code = error.code();
  return is_about_bytes(code) || code == ErrorCode::UnsupportedFeature || code == ErrorCode::TooLarge ||
         code == ErrorCode::TooMuchMemory || code == ErrorCode::BudgetExceeded;
}

bool is_passing(const Error& error) {
  return is_momentary(error) || concerns_one_request(error);
}

bool concerns_one_request(const Error& error) {
  return error.code() == ErrorCode::Interrupted || error.code() == ErrorCode::TimedOut ||
         error.code() == ErrorCode::BudgetExceeded;
}

}  // namespace h5mount
