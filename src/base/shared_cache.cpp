#include "h5mount/base/shared_cache.h"

#include <algorithm>

namespace h5mount {

// Makes the entry the newest one.
void SharedCache::link(Shard& shard, Entry& entry) {
  entry.newer = nullptr;
  entry.older = shard.newest;
  (shard.newest != nullptr ? shard.newest->newer : shard.oldest) = &entry;
  shard.newest = &entry;
  shard.oldest_use.store(shard.oldest->used, std::memory_order_relaxed);
}

void SharedCache::unlink(Shard& shard, Entry& entry) {
  (entry.newer != nullptr ? entry.newer->older : shard.newest) = entry.older;
  (entry.older != nullptr ? entry.older->newer : shard.oldest) = entry.newer;
  shard.oldest_use.store(shard.oldest != nullptr ? shard.oldest->used : kNone, std::memory_order_relaxed);
}

SharedCache::Table::node_type SharedCache::drop(Shard& shard, Entry& entry) {
  held_.fetch_sub(entry.bytes, std::memory_order_relaxed);
  unlink(shard, entry);
  return entry.part->tables[shard_of(entry.key)].extract(entry.key);
}

SharedCache::Value SharedCache::find(Part& part, const Key& key) {
  const std::size_t number = shard_of(key);
  Shard& shard = shards_[number];
  const MutexLock lock(shard.mutex);
  const auto at = part.tables[number].find(key);
  if (at == part.tables[number].end()) return nullptr;
  Entry& entry = at->second;
  // Nothing was inserted since its last use: it has its place, and its neighbours need not be touched.
  const std::uint64_t now = now_.load(std::memory_order_relaxed);
  if (entry.used == now) return entry.value;
  unlink(shard, entry);
  entry.used = now;
  link(shard, entry);
  return entry.value;
}

void SharedCache::insert(Part& part, const Key& key, Value value, std::size_t bytes) {
  bytes += kEntryBytes;
  if (bytes > capacity_) return;
  Value replaced;  // destroyed after the lock is released
  {
    const std::size_t number = shard_of(key);
    Shard& shard = shards_[number];
    const MutexLock lock(shard.mutex);
    const auto [at, is_new] = part.tables[number].try_emplace(key);
    Entry& entry = at->second;
    if (!is_new) unlink(shard, entry);
    held_.fetch_add(bytes - entry.bytes, std::memory_order_relaxed);
    replaced = std::exchange(entry.value, std::move(value));
    entry.part = &part;
    entry.key = key;
    entry.bytes = bytes;
    entry.used = now_.fetch_add(1, std::memory_order_relaxed) + 1;
    link(shard, entry);
  }
  make_room();
}

void SharedCache::charge(Part& part, const Key& key, const void* value, std::size_t bytes) {
  bytes += kEntryBytes;
  Table::node_type dropped;
  {
    const std::size_t number = shard_of(key);
    Shard& shard = shards_[number];
    const MutexLock lock(shard.mutex);
    const auto at = part.tables[number].find(key);
    if (at == part.tables[number].end() || at->second.value.get() != value) return;
    held_.fetch_add(bytes - std::exchange(at->second.bytes, bytes), std::memory_order_relaxed);
    if (bytes > capacity_) dropped = drop(shard, at->second);
  }
  make_room();
}

void SharedCache::erase(Part& part) {
  for (std::size_t number = 0; number < kShards; ++number) {
    Shard& shard = shards_[number];
    Table dropped;
    const MutexLock lock(shard.mutex);
    for (auto& [key, entry] : part.tables[number]) {
      held_.fetch_sub(entry.bytes, std::memory_order_relaxed);
      unlink(shard, entry);
    }
    dropped.swap(part.tables[number]);
  }
}

// Evicts the oldest entry of the shard whose oldest one has not been used for the longest time, until there
// is room.
void SharedCache::make_room() {
  while (held_.load(std::memory_order_relaxed) > capacity_) {
    Shard& shard = *std::ranges::min_element(
        shards_, {}, [](const Shard& one) { return one.oldest_use.load(std::memory_order_relaxed); });
    Table::node_type dropped;
    const MutexLock lock(shard.mutex);
    if (shard.oldest != nullptr) {
      dropped = drop(shard, *shard.oldest);
      // The entry that is evicted next was used long ago: the processor's caches no longer hold it.
      if (shard.oldest != nullptr) __builtin_prefetch(shard.oldest->value.get());
    } else if (shard.oldest_use.load(std::memory_order_relaxed) == kNone) {
      return;  // others have made room
    }
  }
}

}  // namespace h5mount
