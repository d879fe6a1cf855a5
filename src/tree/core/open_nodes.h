// OpenNodes: the nodes of datasets that are open, and the kernel's page cache, for all files of a mount.
// Threads: any.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "node.h"

namespace h5mount::tree {

class OpenNodes {
 public:
  void set_kernel(std::shared_ptr<KernelPages> kernel) {
    const MutexLock lock(mutex_);
    kernel_ = std::move(kernel);
  }
  // Returns null if no kernel keeps pages (a library user, a test).
  std::shared_ptr<KernelPages> kernel() const {
    const MutexLock lock(mutex_);
    return kernel_;
  }

  void add(const NodePtr& node) {
    const MutexLock lock(mutex_);
    auto& entry = open_[node.get()];
    entry.node = node;
    ++entry.count;
  }
  void remove(const NodePtr& node) {
    const MutexLock lock(mutex_);
    const auto found = open_.find(node.get());
    if (found != open_.end() && --found->second.count == 0) open_.erase(found);
  }
  // Claims all nodes that are not claimed; each belongs to the caller alone until the caller gives it back.
  // The other nodes are marked, so that their holder repeats its work.
  std::vector<NodePtr> claim_all() {
    std::vector<NodePtr> out;
    const MutexLock lock(mutex_);
    for (auto& [key, entry] : open_) {
      entry.missed = entry.claimed;
      NodePtr node = entry.claimed ? nullptr : entry.node.lock();
      if (!node) continue;
      entry.claimed = true;
      out.push_back(std::move(node));
    }
    return out;
  }
  // Returns true if the claim continues, because the node was marked meanwhile.
  bool give_back(const NodePtr& node) {
    const MutexLock lock(mutex_);
    const auto found = open_.find(node.get());
    if (found == open_.end()) return false;
    return found->second.claimed = std::exchange(found->second.missed, false);
  }

 private:
  struct Entry {
    std::weak_ptr<Node> node;
    std::size_t count = 0;
    bool claimed = false;
    bool missed = false;
  };
  mutable Mutex mutex_;
  std::shared_ptr<KernelPages> kernel_ H5_GUARDED_BY(mutex_);
  std::unordered_map<const Node*, Entry> open_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree
