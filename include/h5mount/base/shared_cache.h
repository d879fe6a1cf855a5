// SharedCache: one bound in bytes for what many files keep decoded. Each user has a part of its own
// (CachePart), which takes what it uses: the least recently used entry of all parts is evicted first. So a
// thousand files that are open have no more memory than one.
//
// Like LruCache it does not load: two callers that miss at the same time both decode. Evicted values live as
// long as a caller holds them. Threads: any; a lock is held for the lookup only. Values are destroyed without
// a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "h5mount/base/thread_annotations.h"

namespace h5mount {

class SharedCache {
 public:
  // The bound if there is only one file: thousands of objects and heaps.
  static constexpr std::size_t kDefaultBytes = 20U << 20;

  // `capacity_bytes`: the bound, not counting `local_bytes_of` and `local_objects_of`, which have a twentieth
  // and a fifth of it besides.
  explicit SharedCache(std::size_t capacity_bytes = kDefaultBytes)
      : capacity_(capacity_bytes),
        local_bytes_(new SharedCache(Inner{}, capacity_bytes / 20)),
        local_objects_(new SharedCache(Inner{}, capacity_bytes / 5)) {}

  // Caches of their own for what is quickly had again of a local file: its bytes, which the system keeps in
  // memory too, and the objects decoded from them. That takes less time than to use memory which the
  // processor's caches do not hold, so a walk over a large file must not fill the whole bound with them.
  // (With 1 MiB for bytes instead of 4, a walk over 1,000,000 chunks is 1.10 times as fast.)
  static std::shared_ptr<SharedCache> local_bytes_of(const std::shared_ptr<SharedCache>& memory) {
    return {memory, memory->local_bytes_.get()};
  }
  static std::shared_ptr<SharedCache> local_objects_of(const std::shared_ptr<SharedCache>& memory) {
    return {memory, memory->local_objects_.get()};
  }

  std::size_t capacity() const { return capacity_; }
  std::size_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  template <class T>
  friend class CachePart;
  struct Inner {};
  SharedCache(Inner /*without others*/, std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

  using Value = std::shared_ptr<const void>;
  // The key of a value within its part. `version`: that of the source; 0 if there is only one.
  struct Key {
    std::uint64_t version, number;
    bool operator==(const Key&) const = default;
  };
  static constexpr std::uint64_t kGoldenRatio = 0x9E37'79B9'7F4A'7C15;
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return static_cast<std::size_t>(key.number ^ key.version * kGoldenRatio);
    }
  };
  struct Part;
  // Entries are in the order of their use: each knows its neighbours in the shard.
  struct Entry {
    Part* part = nullptr;
    Key key{};
    std::size_t bytes = 0;
    std::uint64_t used = 0;  // the time of the last use
    Value value = nullptr;
    Entry *newer = nullptr, *older = nullptr;
  };
  using Table = std::unordered_map<Key, Entry, Hash>;
  static constexpr std::size_t kShards = 8;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  // The share of one user in each shard; the shard's mutex guards it.
  struct Part {
    std::array<Table, kShards> tables;
  };
  struct Shard {
    Mutex mutex;
    Entry* newest H5_GUARDED_BY(mutex) = nullptr;
    Entry* oldest H5_GUARDED_BY(mutex) = nullptr;
    std::atomic<std::uint64_t> oldest_use = kNone;  // `used` of the oldest entry
  };
  static constexpr std::size_t kEntryBytes = 128;  // of an entry and its places in the tables, about

  Value find(Part& part, const Key& key);
  // Replaces the key's present value. A value larger than the capacity is not kept.
  void insert(Part& part, const Key& key, Value value, std::size_t bytes);
  // The value has grown to that size; does nothing if it is no longer the key's value.
  void charge(Part& part, const Key& key, const void* value, std::size_t bytes);
  void erase(Part& part);

  // Numbers are mostly addresses, which are multiples of eight.
  static std::size_t shard_of(const Key& key) { return (key.number * kGoldenRatio >> 32U) % kShards; }
  static void link(Shard& shard, Entry& entry) H5_REQUIRES(shard.mutex);
  static void unlink(Shard& shard, Entry& entry) H5_REQUIRES(shard.mutex);
  // The entry's node, to be destroyed when the lock is released.
  Table::node_type drop(Shard& shard, Entry& entry) H5_REQUIRES(shard.mutex);
  void make_room();

  const std::size_t capacity_;
  const std::unique_ptr<SharedCache> local_bytes_, local_objects_;
  std::atomic<std::size_t> held_ = 0;
  std::atomic<std::uint64_t> now_ = 0;  // counts insertions
  std::array<Shard, kShards> shards_;
};

// The values of one user, by number (usually an address) and version: a value is found only under its own
// version.
template <class T>
class CachePart {
 public:
  explicit CachePart(std::shared_ptr<SharedCache> memory) : memory_(std::move(memory)) {}
  ~CachePart() { memory_->erase(part_); }
  CachePart(const CachePart&) = delete;
  CachePart& operator=(const CachePart&) = delete;

  std::shared_ptr<const T> find(std::uint64_t version, std::uint64_t number) {
    return std::static_pointer_cast<const T>(memory_->find(part_, {version, number}));
  }
  void insert(std::uint64_t version, std::uint64_t number, std::shared_ptr<const T> value,
              std::size_t bytes) {
    memory_->insert(part_, {version, number}, std::move(value), bytes);
  }
  void charge(std::uint64_t version, std::uint64_t number, const T& value, std::size_t bytes) {
    memory_->charge(part_, {version, number}, &value, bytes);
  }
  const SharedCache& memory() const { return *memory_; }

 private:
  const std::shared_ptr<SharedCache> memory_;
  SharedCache::Part part_;
};

}  // namespace h5mount
