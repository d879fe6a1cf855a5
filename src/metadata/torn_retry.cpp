#include "h5mount/metadata/torn_retry.h"

#include <algorithm>
#include <thread>

#include "h5mount/base/log.h"

namespace h5mount::metadata {
namespace {

constexpr std::chrono::milliseconds kLongestPause{64};

}  // namespace

bool may_be_torn(const Error& error) {
  return is_about_bytes(error.code());
}

bool TornRetry::again(const Error& error, FileMetadataPtr& snapshot) {
  if (!may_be_torn(error) || !file_.following()) return false;
  // The first attempt is repeated without a pause: the snapshot may only have been old.
  if (attempts_ > 0 && !pause(error)) return false;
  ++attempts_;
  file_.retries().attempts.fetch_add(1, std::memory_order_relaxed);
  snapshot = file_.snapshot_after(snapshot);
  return true;
}

bool TornRetry::pause(const Error& error) {
  // A file that has not changed lately is damaged, not torn.
  if (!file_.changed_lately()) return false;
  PauseBudget& pauses = budget_.pauses();
  if (pauses.spent_ms >= file_.retry_for().count() || !budget_.check()) {
    if (!pauses.logged.exchange(true))
      log(LogLevel::Warning, "{}: {} still cannot be read after {} attempts: {}", file_.source()->name(),
          what_, attempts_ + 1, error.text());
    return false;
  }
  const auto pause = std::min(kLongestPause, std::chrono::milliseconds(1U << std::min(attempts_, 10U)));
  std::this_thread::sleep_for(pause);
  pauses.spent_ms += pause.count();
  file_.retries().milliseconds.fetch_add(static_cast<std::uint64_t>(pause.count()),
                                         std::memory_order_relaxed);
  return true;
}

}  // namespace h5mount::metadata
