// A small cache of decoded structures by number (usually an address), bounded in bytes; the least recently
// used entry is evicted first. It does not load: two callers that miss at the same time both decode, which
// costs less here than making one wait. Evicted values live as long as a caller holds them. Threads: any; the
// lock is held for the lookup only.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "h5mount/base/thread_annotations.h"

namespace h5mount {

template <class T>
class LruCache {
 public:
  // The `at_least` most recently used entries are kept whatever their size. If `at_least` is 0, a value
  // larger than the capacity is not kept.
  explicit LruCache(std::size_t capacity_bytes, std::size_t at_least = 0)
      : capacity_(capacity_bytes), at_least_(at_least) {}

  std::shared_ptr<const T> find(std::uint64_t key) {
    const MutexLock lock(mutex_);
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->value;
  }

  // Replaces the key's present value.
  void insert(std::uint64_t key, std::shared_ptr<const T> value, std::size_t bytes) {
    if (bytes > capacity_ && at_least_ == 0) return;
    std::list<Entry> dropped;  // destroyed after the lock is released
    const MutexLock lock(mutex_);
    if (const auto before = index_.find(key); before != index_.end()) drop(before->second, dropped);
    order_.push_front({key, bytes, std::move(value)});
    index_.emplace(key, order_.begin());
    held_ += bytes;
    make_room(dropped);
  }

  // The value has grown to that size; does nothing if it is no longer the key's value.
  void charge(std::uint64_t key, const T& value, std::size_t bytes) {
    std::list<Entry> dropped;
    const MutexLock lock(mutex_);
    const auto at = index_.find(key);
    if (at == index_.end() || at->second->value.get() != &value) return;
    held_ += bytes - std::exchange(at->second->bytes, bytes);
    if (bytes > capacity_ && at_least_ == 0) drop(at->second, dropped);
    make_room(dropped);
  }

  void clear() {
    std::list<Entry> dropped;
    const MutexLock lock(mutex_);
    dropped.swap(order_);
    index_.clear();
    held_ = 0;
  }

 private:
  struct Entry {
    std::uint64_t key;
    std::size_t bytes;
    std::shared_ptr<const T> value;
  };
  void make_room(std::list<Entry>& dropped) H5_REQUIRES(mutex_) {
    while (held_ > capacity_ && order_.size() > at_least_) drop(std::prev(order_.end()), dropped);
  }
  void drop(typename std::list<Entry>::iterator entry, std::list<Entry>& dropped) H5_REQUIRES(mutex_) {
    held_ -= entry->bytes;
    index_.erase(entry->key);
    dropped.splice(dropped.begin(), order_, entry);
  }

  const std::size_t capacity_;
  const std::size_t at_least_;
  Mutex mutex_;
  std::size_t held_ H5_GUARDED_BY(mutex_) = 0;
  std::list<Entry> order_ H5_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<std::uint64_t, typename std::list<Entry>::iterator> index_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount
