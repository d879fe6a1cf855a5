#include "node_table.h"

namespace h5mount::tree {

NodeTable::NodeTable(NodePtr root, NodeId below) : root_(std::move(root)) {
  root_->set_id(kRootNode);
  for (Shard& shard : shards_) shard.next = below / kShards + 1;
}

std::vector<NodeId> NodeTable::ids() {
  std::vector<NodeId> out{kRootNode};
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    for (const auto& [id, slot] : shard.by_id) out.push_back(id);
  }
  return out;
}

NodePtr NodeTable::find(NodeId id) {
  if (id == kRootNode) return root_;
  Shard& shard = shard_of(id);
  const MutexLock lock(shard.mutex);
  const auto found = shard.by_id.find(id);
  return found == shard.by_id.end() ? nullptr : found->second.node;
}

std::pair<NodeId, NodePtr> NodeTable::adopt(NodePtr node) {
  if (node->key() == root_->key()) return {kRootNode, root_};
  const std::size_t number = hash_of(node->key()) % kShards;
  Shard& shard = shards_[number];
  const MutexLock lock(shard.mutex);
  const auto known = shard.by_key.find({&node->key(), 0});
  if (known != shard.by_key.end()) {
    Slot& slot = shard.by_id.at(known->id);
    ++slot.lookups;
    return {known->id, slot.node};
  }
  const NodeId id = shard.next++ * kShards + number;
  node->set_id(id);
  shard.by_key.insert({&node->key(), id});
  shard.by_id.emplace(id, Slot{node, 1});
  return {id, std::move(node)};
}

void NodeTable::forget(NodeId id, std::uint64_t count) {
  if (id == kRootNode) return;
  NodePtr last;  // destroyed after the lock is released
  Shard& shard = shard_of(id);
  const MutexLock lock(shard.mutex);
  const auto found = shard.by_id.find(id);
  if (found == shard.by_id.end()) return;
  Slot& slot = found->second;
  slot.lookups -= std::min(slot.lookups, count);
  if (slot.lookups > 0) return;
  last = std::move(slot.node);
  shard.by_key.erase({&last->key(), id});
  shard.by_id.erase(found);
}

std::size_t NodeTable::size() {
  std::size_t total = 0;
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    total += shard.by_id.size();
  }
  return total;
}

}  // namespace h5mount::tree
