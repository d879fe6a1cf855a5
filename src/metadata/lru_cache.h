// A small cache of decoded structures, bounded in bytes: the least recently used go first. Two callers that miss at
// once both load; that is cheaper here than having one wait. Threads: any; the lock is held for a look-up only.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace h5mount {

template <class T>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

  std::shared_ptr<const T> find(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->value;
  }

  // What alone is over the capacity is not kept.
  void insert(std::uint64_t key, std::shared_ptr<const T> value, std::size_t bytes) {
    if (bytes > capacity_) return;
    const std::lock_guard lock(mutex_);
    if (index_.contains(key)) return;
    order_.push_front({key, bytes, std::move(value)});
    index_.emplace(key, order_.begin());
    for (held_ += bytes; held_ > capacity_; order_.pop_back()) {
      held_ -= order_.back().bytes;
      index_.erase(order_.back().key);
    }
  }

  void clear() {
    std::list<Held> dropped;  // destroyed after the lock is given back
    const std::lock_guard lock(mutex_);
    dropped.swap(order_);
    index_.clear();
    held_ = 0;
  }

 private:
  struct Held {
    std::uint64_t key;
    std::size_t bytes;
    std::shared_ptr<const T> value;
  };
  std::size_t capacity_;
  std::size_t held_ = 0;
  std::mutex mutex_;
  std::list<Held> order_;  // most recently used first
  std::unordered_map<std::uint64_t, typename std::list<Held>::iterator> index_;
};

}  // namespace h5mount
