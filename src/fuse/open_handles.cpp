#include "open_handles.h"

#include <utility>

namespace h5mount::fuse {

std::uint64_t OpenHandles::add(std::shared_ptr<OpenHandle> handle) {
  const std::uint64_t kept = kept_ != nullptr ? kept_->add(handle->kind(), handle->node) : 0;
  const MutexLock lock(mutex_);
  const std::uint64_t number = kept != 0 ? kept : ++last_;
  handles_.emplace(number, std::move(handle));
  return number;
}

std::shared_ptr<OpenHandle> OpenHandles::find_any(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto known = handles_.find(number);
  return known == handles_.end() ? nullptr : known->second;
}

Result<KeptHandles::Record> OpenHandles::opened_before(std::uint64_t number, HandleKind kind) const {
  const auto record = kept_ != nullptr ? kept_->find(number) : std::nullopt;
  if (!record || record->kind != kind) return fail({ErrorCode::Stale, "an open file that is not known"});
  return *record;
}

bool OpenHandles::reopen(std::uint64_t number, std::shared_ptr<OpenHandle> handle) {
  const MutexLock lock(mutex_);
  return handles_.emplace(number, std::move(handle)).second;
}

std::shared_ptr<OpenHandle> OpenHandles::remove(std::uint64_t number) {
  if (kept_ != nullptr) kept_->remove(number);
  decltype(handles_)::node_type removed;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  removed = handles_.extract(number);
  return removed ? removed.mapped() : nullptr;
}

// At the beginning of a listing any listing is accepted.
bool OpenHandles::same_listing(std::uint64_t number, std::uint64_t digest, bool begins) {
  const auto record = kept_ != nullptr ? kept_->find(number) : std::nullopt;
  if (!record) return true;
  if (!begins && record->listing != 0 && record->listing != digest) return false;
  kept_->set_listing(number, digest);
  return true;
}

}  // namespace h5mount::fuse
