// A small cache of decoded nodes and pages of one index, by address, least recently used out first.
//
// Threads: any; the lock is held only for the look into the map. Two readers that miss the same node both
// load it, which costs less than to make one wait. Readers keep what they hold when it falls out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace h5mount::chunk {

// Enough for the path down any tree and a good many leaves (a page of 1,024 elements takes 8 to 20 KiB, a
// B-tree node about 4), little enough to have one in every open dataset.
inline constexpr std::size_t kNodeCacheBytes = 2U << 20;
// Kept whatever they take: the way from the top to one page, so that a scan of huge pages does not thrash.
inline constexpr std::size_t kNodeCacheLeast = 4;

template <class Node>
class NodeCache {
 public:
  using NodePtr = std::shared_ptr<const Node>;

  NodePtr find(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(address);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->node;
  }

  void insert(std::uint64_t address, NodePtr node, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (places_.contains(address)) return;
    order_.push_front({address, std::move(node), bytes});
    places_.emplace(address, order_.begin());
    bytes_ += bytes;
    while (bytes_ > kNodeCacheBytes && order_.size() > kNodeCacheLeast) {
      bytes_ -= order_.back().bytes;
      places_.erase(order_.back().address);
      order_.pop_back();
    }
  }

 private:
  struct Entry {
    std::uint64_t address;
    NodePtr node;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::list<Entry> order_;
  std::unordered_map<std::uint64_t, typename std::list<Entry>::iterator> places_;
  std::size_t bytes_ = 0;
};

}  // namespace h5mount::chunk
