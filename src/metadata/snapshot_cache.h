// SnapshotCache: decoded structures of a file, by address and by the snapshot they were read for. All
// snapshots of a file share one cache, which bounds their bytes together; no snapshot finds an entry of
// another one. Entries of a snapshot that no longer exists become the least recently used, and are evicted
// first. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "h5mount/base/lru_cache.h"

namespace h5mount::metadata {

template <class T>
class SnapshotCache {
 public:
  explicit SnapshotCache(std::size_t capacity_bytes) : entries_(capacity_bytes) {}

  // `snapshot`: FileMetadata::number.
  std::shared_ptr<const T> find(std::uint64_t snapshot, std::uint64_t key) {
    const auto entry = entries_.find(mixed(snapshot, key));
    if (!entry || entry->snapshot != snapshot || entry->key != key) return nullptr;
    return entry->value;
  }

  void insert(std::uint64_t snapshot, std::uint64_t key, std::shared_ptr<const T> value, std::size_t bytes) {
    entries_.insert(mixed(snapshot, key), std::make_shared<const Entry>(snapshot, key, std::move(value)),
                    bytes);
  }

 private:
  struct Entry {
    std::uint64_t snapshot, key;
    std::shared_ptr<const T> value;
  };

  // Two keys may have the same hash: then the later entry replaces the other one.
  static std::uint64_t mixed(std::uint64_t snapshot, std::uint64_t key) {
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
    return key ^ snapshot * kGoldenRatio;
  }

  LruCache<Entry> entries_;
};

}  // namespace h5mount::metadata
