#include "h5mount/base/shared_cache.h"

#include <algorithm>
#include <utility>

namespace h5mount {

void SharedCache::note_oldest(Shard& shard) {
  shard.oldest.store(shard.order.empty() ? kNone : shard.order.back().used, std::memory_order_relaxed);
}

SharedCache::Value SharedCache::find(Part& part, const Key& key) {
  const std::size_t number = shard_of(key);
  Shard& shard = shards_[number];
  const MutexLock lock(shard.mutex);
  const auto at = part.entries[number].find(key);
  if (at == part.entries[number].end()) return nullptr;
  at->second->used = now_.load(std::memory_order_relaxed);
  shard.order.splice(shard.order.begin(), shard.order, at->second);
  note_oldest(shard);
  return at->second->value;
}

void SharedCache::insert(Part& part, const Key& key, Value value, std::size_t bytes) {
  bytes += kEntryBytes;
  if (bytes > capacity_) return;
  Entries dropped;  // destroyed after the lock is released
  {
    const std::size_t number = shard_of(key);
    Shard& shard = shards_[number];
    const MutexLock lock(shard.mutex);
    auto& entries = part.entries[number];
    if (const auto before = entries.find(key); before != entries.end()) drop(shard, before->second, dropped);
    const std::uint64_t now = now_.fetch_add(1, std::memory_order_relaxed) + 1;
    shard.order.push_front({&part, key, bytes, now, std::move(value)});
    entries.emplace(key, shard.order.begin());
    held_.fetch_add(bytes, std::memory_order_relaxed);
    note_oldest(shard);
  }
  make_room();
}

void SharedCache::charge(Part& part, const Key& key, const void* value, std::size_t bytes) {
  bytes += kEntryBytes;
  Entries dropped;
  {
    const std::size_t number = shard_of(key);
    Shard& shard = shards_[number];
    const MutexLock lock(shard.mutex);
    const auto at = part.entries[number].find(key);
    if (at == part.entries[number].end() || at->second->value.get() != value) return;
    held_.fetch_add(bytes - std::exchange(at->second->bytes, bytes), std::memory_order_relaxed);
    if (bytes > capacity_) {
      drop(shard, at->second, dropped);
      note_oldest(shard);
    }
  }
  make_room();
}

void SharedCache::erase(Part& part) {
  for (std::size_t number = 0; number < kShards; ++number) {
    Shard& shard = shards_[number];
    Entries dropped;
    const MutexLock lock(shard.mutex);
    for (const auto& [key, entry] : part.entries[number]) {
      held_.fetch_sub(entry->bytes, std::memory_order_relaxed);
      dropped.splice(dropped.begin(), shard.order, entry);
    }
    part.entries[number].clear();
    note_oldest(shard);
  }
}

void SharedCache::drop(Shard& shard, Entries::iterator entry, Entries& dropped) {
  held_.fetch_sub(entry->bytes, std::memory_order_relaxed);
  entry->part->entries[shard_of(entry->key)].erase(entry->key);
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
