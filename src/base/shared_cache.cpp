#include "h5mount/base/shared_cache.h"

#include <algorithm>
#include <utility>

namespace h5mount {

std::uint64_t SharedCache::new_part() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void SharedCache::note_oldest(Shard& shard) {
  shard.oldest.store(shard.order.empty() ? kNone : shard.order.back().used, std::memory_order_relaxed);
}

SharedCache::Value SharedCache::find(std::uint64_t part, const Key& key) {
  Shard& shard = shard_of(key);
  const MutexLock lock(shard.mutex);
  const auto entries = shard.parts.find(part);
  if (entries == shard.parts.end()) return nullptr;
  const auto at = entries->second.find(key);
  if (at == entries->second.end()) return nullptr;
  at->second->used = now_.load(std::memory_order_relaxed);
  shard.order.splice(shard.order.begin(), shard.order, at->second);
  note_oldest(shard);
  return at->second->value;
}

void SharedCache::insert(std::uint64_t part, const Key& key, Value value, std::size_t bytes) {
  bytes += kEntryBytes;
  if (bytes > capacity_) return;
  Entries dropped;  // destroyed after the lock is released
  {
    Shard& shard = shard_of(key);
    const MutexLock lock(shard.mutex);
    if (const auto entries = shard.parts.find(part); entries != shard.parts.end())
      if (const auto before = entries->second.find(key); before != entries->second.end())
        drop(shard, before->second, dropped);
    const std::uint64_t now = now_.fetch_add(1, std::memory_order_relaxed) + 1;
    shard.order.push_front({part, key, bytes, now, std::move(value)});
    shard.parts[part].emplace(key, shard.order.begin());
    held_.fetch_add(bytes, std::memory_order_relaxed);
    note_oldest(shard);
  }
  make_room();
}

void SharedCache::charge(std::uint64_t part, const Key& key, const void* value, std::size_t bytes) {
  bytes += kEntryBytes;
  Entries dropped;
  {
    Shard& shard = shard_of(key);
    const MutexLock lock(shard.mutex);
    const auto entries = shard.parts.find(part);
    if (entries == shard.parts.end()) return;
    const auto at = entries->second.find(key);
    if (at == entries->second.end() || at->second->value.get() != value) return;
    held_.fetch_add(bytes - std::exchange(at->second->bytes, bytes), std::memory_order_relaxed);
    if (bytes > capacity_) {
      drop(shard, at->second, dropped);
      note_oldest(shard);
    }
  }
  make_room();
}

void SharedCache::erase(std::uint64_t part) {
  for (Shard& shard : shards_) {
    Entries dropped;
    const MutexLock lock(shard.mutex);
    const auto entries = shard.parts.extract(part);
    if (entries.empty()) continue;
    for (const auto& [key, entry] : entries.mapped()) {
      held_.fetch_sub(entry->bytes, std::memory_order_relaxed);
      dropped.splice(dropped.begin(), shard.order, entry);
    }
    note_oldest(shard);
  }
}

// The part's table is removed with its last entry.
void SharedCache::drop(Shard& shard, Entries::iterator entry, Entries& dropped) {
  held_.fetch_sub(entry->bytes, std::memory_order_relaxed);
  if (const auto entries = shard.parts.find(entry->part); entries != shard.parts.end()) {
    entries->second.erase(entry->key);
    if (entries->second.empty()) shard.parts.erase(entries);
  }
  dropped.splice(dropped.begin(), shard.order, entry);
}

// Evicts the last entry of the shard whose last entry has not been used for the longest time, until there is
// room.
void SharedCache::make_room() {
  Entries dropped;
  while (held_.load(std::memory_order_relaxed) > capacity_) {
    Shard& shard = *std::ranges::min_element(
        shards_, {}, [](const Shard& one) { return one.oldest.load(std::memory_order_relaxed); });
    const MutexLock lock(shard.mutex);
    if (shard.order.empty()) {
      if (shard.oldest.load(std::memory_order_relaxed) == kNone) return;  // others have made room
      continue;
    }
    drop(shard, std::prev(shard.order.end()), dropped);
    note_oldest(shard);
  }
}

}  // namespace h5mount
