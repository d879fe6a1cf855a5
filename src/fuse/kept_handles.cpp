#include "kept_handles.h"

#include <algorithm>
#include <new>

namespace h5mount::fuse {
namespace {

// Never 0, as a generation is never 0.
std::uint64_t number_at(std::uint32_t index, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | index;
}

}  // namespace

KeptHandles::KeptHandles(const KeptMemory& memory) : memory_(memory) {
  const MutexLock lock(mutex_);
  KeptHeader& header = memory_.header();
  header.handles = std::min<std::uint64_t>(header.handles, KeptMemory::kHandles);
  for (std::uint32_t index = 0; index < header.handles; ++index) {
    KeptHandle& handle = memory_.handles()[index];
    const bool sound = handle.kind == HandleKind::File || handle.kind == HandleKind::Directory;
    if (sound && handle.generation != 0) {
      records_[number_at(index, handle.generation)] = {handle.kind, handle.node, handle.listing};
      continue;
    }
    handle.kind = HandleKind::None;
    free_.push_back(index);
  }
}

std::uint64_t KeptHandles::add(HandleKind kind, tree::NodeId node) {
  const MutexLock lock(mutex_);
  KeptHeader& header = memory_.header();
  if (free_.empty()) {
    if (header.handles == KeptMemory::kHandles) throw std::bad_alloc();
    free_.push_back(static_cast<std::uint32_t>(header.handles++));
  }
  const std::uint32_t index = free_.back();
  KeptHandle& handle = memory_.handles()[index];
  const std::uint32_t generation = std::max(handle.generation + 1, 1U);
  const std::uint64_t number = number_at(index, generation);
  records_[number] = {kind, node, 0};
  free_.pop_back();
  handle.generation = generation;
  handle.node = node;
  handle.listing = 0;
  KeptMemory::publish(handle.kind, kind);
  return number;
}

void KeptHandles::remove(std::uint64_t number) {
  const MutexLock lock(mutex_);
  if (records_.erase(number) == 0) return;
  const auto index = static_cast<std::uint32_t>(number);
  KeptMemory::publish(memory_.handles()[index].kind, HandleKind::None);
  free_.push_back(index);
}

std::optional<KeptHandles::Record> KeptHandles::find(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto known = records_.find(number);
  return known == records_.end() ? std::nullopt : std::optional(known->second);
}

void KeptHandles::set_listing(std::uint64_t number, std::uint64_t digest) {
  const MutexLock lock(mutex_);
  const auto known = records_.find(number);
  if (known == records_.end()) return;
  known->second.listing = digest;
  memory_.handles()[static_cast<std::uint32_t>(number)].listing = digest;
}

}  // namespace h5mount::fuse
