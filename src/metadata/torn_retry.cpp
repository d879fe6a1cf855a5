#include "h5mount/metadata/torn_retry.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "h5mount/base/log.h"

namespace h5mount {
namespace {

constexpr std::chrono::milliseconds kLongestPause{64};

thread_local TornRetry* t_outermost = nullptr;

}  // namespace

TornRetry::TornRetry(const FileMetadata& file, std::string_view what)
    : file_(file), what_(what), outermost_(t_outermost != nullptr ? t_outermost : this) {
  t_outermost = outermost_;
}

TornRetry::~TornRetry() {
  if (outermost_ == this) t_outermost = nullptr;
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
  const auto now = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point& began = outermost_->began_;
  if (began == std::chrono::steady_clock::time_point{}) began = now;
  // A file that nobody writes is damaged, not torn.
  if (attempts_ > 0 && !file_.changed_lately()) return false;
  if (now - began >= file_.retry_for()) {
    if (attempts_ > 0 && !std::exchange(outermost_->told_, true))
      log(LogLevel::Warning, "{} still cannot be read after {} attempts: {}", what_, attempts_ + 1,
          error.text());
    return false;
  }
  // The first time at once: what was kept may only have been old.
  if (attempts_ > 0)
    std::this_thread::sleep_for(
        std::min(kLongestPause, std::chrono::milliseconds(1U << std::min(attempts_, 10U))));
  ++attempts_;
  file_.look_again();
  return true;
}

}  // namespace h5mount
