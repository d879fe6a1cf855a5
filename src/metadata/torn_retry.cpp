#include "h5mount/metadata/torn_retry.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "h5mount/base/log.h"

namespace h5mount::metadata {
namespace {

constexpr std::chrono::milliseconds kLongestPause{64};

thread_local RetryBudget* t_outermost = nullptr;

}  // namespace

RetryBudget::RetryBudget() : outermost_(t_outermost != nullptr ? t_outermost : this) {
  t_outermost = outermost_;
}

RetryBudget::~RetryBudget() {
  if (outermost_ == this) t_outermost = nullptr;
}

RetryCounters& retry_counters() {
  static RetryCounters counters;
  return counters;
}

bool may_be_torn(const Error& error) {
  switch (error.code()) {
    case ErrorCode::Truncated:
    case ErrorCode::BadSignature:
    case ErrorCode::UnsupportedVersion:
    case ErrorCode::ChecksumMismatch:
    case ErrorCode::InvalidValue:
    case ErrorCode::OutOfRange:
    case ErrorCode::LimitExceeded:
    case ErrorCode::Cycle:
    case ErrorCode::FilterFailed:
      return true;
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::Io:
    case ErrorCode::NotFound:
    case ErrorCode::AccessDenied:
    case ErrorCode::TooLarge:
    case ErrorCode::Stale:
    case ErrorCode::Internal:
      return false;
  }
  return false;
}

bool TornRetry::again(const Error& error) {
  if (!may_be_torn(error) || !file_.following()) return false;
  // The first time at once: what was kept may only have been old.
  if (attempts_ > 0) {
    // A file that nobody writes is damaged, not torn.
    if (!file_.changed_lately()) return false;
    RetryBudget& budget = *budget_.outermost_;
    if (budget.spent_ >= file_.retry_for()) {
      if (!std::exchange(budget.told_, true))
        log(LogLevel::Warning, "{}: {} still cannot be read after {} attempts: {}", file_.addresses()->name(),
            what_, attempts_ + 1, error.text());
      return false;
    }
    const auto pause = std::min(kLongestPause, std::chrono::milliseconds(1U << std::min(attempts_, 10U)));
    std::this_thread::sleep_for(pause);
    budget.spent_ += pause;
    retry_counters().milliseconds.fetch_add(static_cast<std::uint64_t>(pause.count()),
                                            std::memory_order_relaxed);
  }
  ++attempts_;
  retry_counters().attempts.fetch_add(1, std::memory_order_relaxed);
  file_.look_again();
  return true;
}

}  // namespace h5mount::metadata
