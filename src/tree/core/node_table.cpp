#include "node_table.h"

#include <algorithm>
#include <utility>

namespace h5mount::tree {

NodeTable::NodeTable(NodePtr root, NodeId root_id, NodeId below) : root_(std::move(root)), root_id_(root_id) {
  root_->set_id(root_id);
  for (Shard& shard : shards_) shard.next = below / kShards + 1;
}

std::vector<NodeId> NodeTable::ids() {
  std::vector<NodeId> out{root_id_};
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    shard.slots.for_each([&](const Slot& slot) { out.push_back(slot.node->id()); });
  }
  return out;
}

NodePtr NodeTable::find(NodeId id) {
  if (id == root_id_) return root_;
  Shard& shard = shard_of(id);
  const MutexLock lock(shard.mutex);
  const Slot* const found = shard.slots.find(id / kShards);
  return found == nullptr ? nullptr : found->node;
}

std::pair<NodeId, NodePtr> NodeTable::adopt(NodePtr node) {
  if (node->key() == root_->key()) return {root_id_, root_};
  const std::uint64_t hash = hash_of(node->key());
  const std::size_t number = hash % kShards;
  Shard& shard = shards_[number];
  const MutexLock lock(shard.mutex);
  if (const Node* const known = shard.keys.find(hash, node->key())) {
    Slot& slot = *shard.slots.find(known->id() / kShards);
    ++slot.lookups;
    return {known->id(), slot.node};
  }
  const std::uint64_t place = shard.next++;
  const NodeId id = place * kShards + number;
  node->set_id(id);
  shard.keys.make_room();  // so that no node is in only one of the two if memory runs out
  shard.slots.add(place, {node, 1});
  shard.keys.add(hash, node.get());
  return {id, std::move(node)};
}

void NodeTable::forget(NodeId id, std::uint64_t count) {
  if (id == root_id_) return;
  NodePtr last;  // destroyed after the lock is released
  Shard& shard = shard_of(id);
  const MutexLock lock(shard.mutex);
  Slot* const found = shard.slots.find(id / kShards);
  if (found == nullptr) return;
  found->lookups -= std::min(found->lookups, count);
  if (found->lookups > 0) return;
  last = std::move(found->node);
  shard.keys.remove(hash_of(last->key()), last.get());
  shard.slots.remove(id / kShards);
}

std::size_t NodeTable::size() {
  std::size_t total = 0;
  for (Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    total += shard.slots.size();
  }
  return total;
}

// ---- slots

NodeTable::Slot* NodeTable::Slots::find(std::uint64_t number) {
  const auto page = pages_.find(number / kPage);
  if (page == pages_.end()) return nullptr;
  Slot& slot = page->second->slots[number % kPage];
  return slot.node ? &slot : nullptr;
}

void NodeTable::Slots::add(std::uint64_t number, Slot slot) {
  auto found = pages_.find(number / kPage);
  if (found == pages_.end()) found = pages_.emplace(number / kPage, std::make_unique<Page>()).first;
  Page& page = *found->second;
  page.slots[number % kPage] = std::move(slot);
  ++page.used;
  ++size_;
}

void NodeTable::Slots::remove(std::uint64_t number) {
  const auto page = pages_.find(number / kPage);
  page->second->slots[number % kPage] = {};
  --size_;
  if (--page->second->used == 0) pages_.erase(page);
}

// ---- keys

Node* NodeTable::Keys::find(std::uint64_t hash, const NodeKey& key) const {
  if (entries_.empty()) return nullptr;
  for (std::size_t at = home(hash); entries_[at].node != nullptr; at = after(at))
    if (entries_[at].hash == hash && entries_[at].node->key() == key) return entries_[at].node;
  return nullptr;
}

void NodeTable::Keys::add(std::uint64_t hash, Node* node) {
  put({hash, node});
  ++used_;
}

void NodeTable::Keys::put(const Entry& entry) {
  std::size_t at = home(entry.hash);
  while (entries_[at].node != nullptr) at = after(at);
  entries_[at] = entry;
}

// An entry that follows without a gap is moved to the freed place if it would be found there too.
void NodeTable::Keys::remove(std::uint64_t hash, const Node* node) {
  std::size_t freed = home(hash);
  while (entries_[freed].node != node) freed = after(freed);
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = after(freed); entries_[at].node != nullptr; at = after(at)) {
    const std::size_t from_home = (at - home(entries_[at].hash)) & mask;
    if (from_home < ((at - freed) & mask)) continue;
    entries_[freed] = entries_[at];
    freed = at;
  }
  entries_[freed] = {};
  if (--used_ == 0) std::vector<Entry>().swap(entries_);
}

void NodeTable::Keys::grow() {
  constexpr std::size_t kFirst = 16;
  std::vector<Entry> before(std::max(kFirst, 2 * entries_.size()));
  before.swap(entries_);
  for (const Entry& entry : before)
    if (entry.node != nullptr) put(entry);
}

}  // namespace h5mount::tree
