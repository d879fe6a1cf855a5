#include "open_handles.h"

#include <utility>

namespace h5mount::fuse {

std::uint64_t OpenHandles::add(std::shared_ptr<OpenHandle> handle) {
  const std::uint64_t handed = handover_ != nullptr ? handover_->add_handle(handle->kind, handle->node) : 0;
  const MutexLock lock(mutex_);
  const std::uint64_t number = handed != 0 ? handed : ++last_;
  insert(number, std::move(handle));
  return number;
}

std::shared_ptr<OpenHandle> OpenHandles::find_any(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto known = handles_.find(number);
  return known == handles_.end() ? nullptr : known->second;
}

Result<tree::NodeId> OpenHandles::node_of(std::uint64_t number, HandleKind kind) const {
  if (handover_ != nullptr) return handover_->handle_node(number, kind);
  return fail({ErrorCode::Stale, "an open file that is not known"});
}

void OpenHandles::insert(std::uint64_t number, std::shared_ptr<OpenHandle> handle) {
  if (handles_.contains(number)) return;
  // First what can fail: a handle without its mark would take that of another one with it.
  const bool file = handle->kind == HandleKind::File;
  const auto mark = file ? files_.insert(handle->node) : files_.end();
  try {
    handles_.emplace(number, std::move(handle));
  } catch (...) {
    if (file) files_.erase(mark);
    throw;
  }
}

void OpenHandles::reopen(std::uint64_t number, std::shared_ptr<OpenHandle> handle) {
  const MutexLock lock(mutex_);
  insert(number, std::move(handle));
}

void OpenHandles::remove(std::uint64_t number) {
  if (handover_ != nullptr) handover_->remove_handle(number);
  decltype(handles_)::node_type removed;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  removed = handles_.extract(number);
  if (removed && removed.mapped()->kind == HandleKind::File)
    files_.erase(files_.find(removed.mapped()->node));
}

bool OpenHandles::has_file(tree::NodeId node) const {
  const MutexLock lock(mutex_);
  return files_.contains(node);
}

}  // namespace h5mount::fuse
