#include "object_cache.h"

#include <algorithm>

namespace h5mount::tree {

namespace {

constexpr std::size_t kMostObjects = 4096;
constexpr std::size_t kMostBytes = 8U << 20;

std::size_t cost_of(const OpenedObject& opened) {
  std::size_t bytes = 512;
  for (const metadata::HeaderMessage& message : opened.object.header->messages)
    bytes += sizeof message + message.body.size();
  return bytes;
}

}  // namespace

OpenedObjectPtr ObjectCache::find(std::uint64_t address, const metadata::FileMetadataPtr& snapshot) {
  const std::lock_guard lock(mutex_);
  if (snapshot_ != snapshot) return nullptr;
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  const auto entry = found->second;
  recent_.splice(recent_.begin(), recent_, entry);
  return entry->object;
}

void ObjectCache::insert(std::uint64_t address, OpenedObjectPtr object) {
  const std::size_t bytes = cost_of(*object);
  std::list<Entry> dropped;  // destroyed after the lock is given back
  metadata::FileMetadataPtr snapshot = object->snapshot;
  const std::lock_guard lock(mutex_);
  if (snapshot_ && snapshot->number() < snapshot_->number()) return;
  if (snapshot_ != snapshot) {
    snapshot_.swap(snapshot);
    dropped.swap(recent_);
    by_address_.clear();
    bytes_ = 0;
  }
  if (const auto found = by_address_.find(address); found != by_address_.end()) {
    recent_.splice(recent_.end(), recent_, found->second);
    drop_last();
  }
  recent_.push_front({address, std::move(object), bytes});
  by_address_[address] = recent_.begin();
  bytes_ += bytes;
  while (recent_.size() > 1 && (recent_.size() > kMostObjects || bytes_ > kMostBytes)) drop_last();
}

void ObjectCache::drop_last() {
  const Entry& last = recent_.back();
  bytes_ -= last.bytes;
  by_address_.erase(last.address);
  recent_.pop_back();
}

}  // namespace h5mount::tree
