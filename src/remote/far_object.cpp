#include "far_object.h"

#include "h5mount/base/log.h"

namespace h5mount::remote {

Url FarObject::location() const {
  const MutexLock lock(mutex_);
  if (location_) return *location_;
  return asked_.scheme == "s3" ? client_.identity.place_of(asked_) : asked_;
}

bool FarObject::redirected() const {
  const MutexLock lock(mutex_);
  return location_.has_value();
}

void FarObject::set_location(const Url& url, bool only_public) {
  const MutexLock lock(mutex_);
  location_ = url;
  only_public_ = only_public;
}

void FarObject::forget_location() {
  const MutexLock lock(mutex_);
  location_.reset();
  only_public_ = false;
}

bool FarObject::only_public() const {
  const MutexLock lock(mutex_);
  return only_public_;
}

std::optional<Version> FarObject::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

void FarObject::set_version(Version version) {
  const MutexLock lock(mutex_);
  version_ = std::move(version);
}

void FarObject::make_stale() {
  if (!stale_.exchange(true)) log(LogLevel::Warning, "{}: it is another object now", shown());
}

Error FarObject::stale_error() const {
  return {ErrorCode::Stale, shown() + " is another object now"};
}

}  // namespace h5mount::remote
