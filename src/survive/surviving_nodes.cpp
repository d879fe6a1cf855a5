#include "surviving_nodes.h"

#include <algorithm>
#include <new>
#include <utility>

namespace h5mount::survive {
namespace {

constexpr std::uint32_t kFirstNumber = 2;  // below are 0, no node, and the root

std::uint32_t index_of(tree::NodeId id) {
  return static_cast<std::uint32_t>(id) - kFirstNumber;
}

tree::NodeId id_at(std::uint32_t index, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | (index + kFirstNumber);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= tree::kMaxShownName && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::uint32_t take_place(std::vector<std::uint32_t>& free, std::uint64_t& used, std::size_t most) {
  if (!free.empty()) {
    const std::uint32_t out = free.back();
    free.pop_back();
    return out;
  }
  if (used == most) throw std::bad_alloc();
  return static_cast<std::uint32_t>(used++);
}

}  // namespace

SurvivingNodes::SurvivingNodes(const SurvivingMemory& memory) : memory_(memory) {
  const MutexLock lock(mutex_);
  take_over();
}

// Takes the nodes that the root leads to, which leaves out circles, and whose names are possible. A tail that
// two nodes claim is the first one's.
void SurvivingNodes::take_over() {
  SharedHeader& header = memory_.header();
  header.nodes = std::min<std::uint64_t>(header.nodes, SurvivingMemory::kNodes);
  header.tails = std::min<std::uint64_t>(header.tails, SurvivingMemory::kTails);
  std::unordered_multimap<tree::NodeId, std::uint32_t> by_parent;
  for (std::uint32_t index = 0; index < header.nodes; ++index)
    if (memory_.nodes()[index].used == 1) by_parent.emplace(memory_.nodes()[index].parent, index);
  std::vector<bool> nodes_used(header.nodes), tails_used(header.tails);
  std::vector<tree::NodeId> order{tree::kRootNode};
  for (std::size_t next = 0; next < order.size(); ++next) {
    const tree::NodeId parent = order[next];
    for (auto [one, last] = by_parent.equal_range(parent); one != last; ++one) {
      const SharedNode& node = memory_.nodes()[one->second];
      const bool long_name = node.tail != kNoTail;
      if (long_name && (node.tail >= tails_used.size() || tails_used[node.tail])) continue;
      if (long_name != (node.name_length > node.name.size()) || !is_name(name_of(node))) continue;
      if (long_name) tails_used[node.tail] = true;
      nodes_used[one->second] = true;
      order.push_back(id_at(one->second, node.generation));
      nodes_[order.back()] = {.parent = parent, .lookups = node.lookups};
      if (const auto above = nodes_.find(parent); above != nodes_.end()) ++above->second.children;
    }
  }
  for (std::uint32_t index = 0; index < header.nodes; ++index) {
    if (nodes_used[index]) continue;
    SurvivingMemory::publish<std::uint8_t>(memory_.nodes()[index].used, 0);
    free_nodes_.push_back(index);
  }
  for (std::uint32_t tail = 0; tail < header.tails; ++tail)
    if (!tails_used[tail]) free_tails_.push_back(tail);
  for (const tree::NodeId id : order) free_unused(id);
}

// ---- records

tree::NodeId SurvivingNodes::place(tree::NodeId parent, std::string_view name, const tree::NodeStat& stat) {
  if (!is_name(name)) throw std::bad_alloc();
  std::uint32_t tail = kNoTail;
  const std::string_view first = name.substr(0, sizeof(SharedNode::name)), rest = name.substr(first.size());
  if (!rest.empty()) {
    tail = take_place(free_tails_, memory_.header().tails, SurvivingMemory::kTails);
    std::ranges::copy(rest, memory_.tails()[tail].begin());
  }
  const std::uint32_t index = take_place(free_nodes_, memory_.header().nodes, SurvivingMemory::kNodes);
  SharedNode& node = memory_.nodes()[index];
  node.generation += 1;
  node.parent = parent;
  node.lookups = 1;
  node.ino = stat.ino;
  node.mtime = stat.mtime;
  node.version = 0;
  node.flags = stat.follows ? kNodeFollows : 0;
  node.name_length = static_cast<std::uint16_t>(name.size());
  std::ranges::copy(first, node.name.begin());
  node.tail = tail;
  SurvivingMemory::publish<std::uint8_t>(node.used, 1);
  return id_at(index, node.generation);
}

std::string SurvivingNodes::name_of(const SharedNode& node) const {
  const std::size_t length = std::min<std::size_t>(node.name_length, tree::kMaxShownName);
  std::string out(node.name.data(), std::min(length, node.name.size()));
  if (node.tail < SurvivingMemory::kTails) out.append(memory_.tails()[node.tail].data(), length - out.size());
  return out;
}

void SurvivingNodes::free_place(std::uint32_t index) {
  SharedNode& node = memory_.nodes()[index];
  SurvivingMemory::publish<std::uint8_t>(node.used, 0);
  if (node.tail != kNoTail) free_tails_.push_back(node.tail);
  free_nodes_.push_back(index);
}

// ---- nodes

tree::NodeId SurvivingNodes::adopt(const tree::Entry& found, tree::NodeId parent, std::string_view name) {
  const MutexLock lock(mutex_);
  tree::NodeId id = 0;
  if (const auto known = ids_.find(found.node); known != ids_.end()) {
    id = known->second;
    Local& local = nodes_.at(id);
    local.lookups += 1;
    local.references += 1;
    SharedNode& node = memory_.nodes()[index_of(id)];
    if (found.stat.follows) node.flags |= kNodeFollows;
    SurvivingMemory::publish(node.lookups, local.lookups);
    return id;
  }
  id = place(parent, name, found.stat);
  nodes_[id] = {.found = found.node, .references = 1, .parent = parent, .lookups = 1, .children = 0};
  ids_[found.node] = id;
  if (const auto above = nodes_.find(parent); above != nodes_.end()) ++above->second.children;
  return id;
}

SurvivingNodes::Dropped SurvivingNodes::forget(tree::NodeId id, std::uint64_t count) {
  const MutexLock lock(mutex_);
  return drop(id, count);
}

SurvivingNodes::Dropped SurvivingNodes::forget_exactly(tree::NodeId id, std::uint64_t count) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  return known != nodes_.end() && known->second.lookups == count ? drop(id, count) : Dropped{};
}

SurvivingNodes::Dropped SurvivingNodes::drop(tree::NodeId id, std::uint64_t count) {
  const auto known = nodes_.find(id);
  if (known == nodes_.end()) return {};
  Local& local = known->second;
  local.lookups -= static_cast<std::uint32_t>(std::min<std::uint64_t>(local.lookups, count));
  SurvivingMemory::publish(memory_.nodes()[index_of(id)].lookups, local.lookups);
  if (local.lookups > 0) return {};
  const Dropped out{std::exchange(local.found, 0), std::exchange(local.references, 0)};
  if (const auto owner = ids_.find(out.node); owner != ids_.end() && owner->second == id) ids_.erase(owner);
  free_unused(id);
  return out;
}

// Frees the node and its ancestors while they have neither lookups nor children: the names of children lead
// through them.
void SurvivingNodes::free_unused(tree::NodeId id) {
  for (auto known = nodes_.find(id); known != nodes_.end(); known = nodes_.find(id)) {
    if (known->second.lookups > 0 || known->second.children > 0) return;
    const tree::NodeId parent = known->second.parent;
    nodes_.erase(known);
    free_place(index_of(id));
    const auto above = nodes_.find(parent);
    if (above == nodes_.end()) return;
    --above->second.children;
    id = parent;
  }
}

bool SurvivingNodes::note_opened(tree::NodeId id, std::uint64_t version, bool others) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end()) return true;
  SharedNode& node = memory_.nodes()[index_of(id)];
  if (others) node.flags |= kNodeOthers;
  if (!known->second.opened && node.version != 0 && version != node.version) return false;
  known->second.opened = true;
  SurvivingMemory::publish(node.version, version);
  return true;
}

std::optional<tree::NodeId> SurvivingNodes::found(tree::NodeId id) const {
  if (id == tree::kRootNode) return id;
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end() || known->second.found == 0) return std::nullopt;
  return known->second.found;
}

std::optional<tree::NodeId> SurvivingNodes::id_of(tree::NodeId found) const {
  if (found == tree::kRootNode) return found;
  const MutexLock lock(mutex_);
  const auto known = ids_.find(found);
  return known == ids_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<SurvivingNodes::Record> SurvivingNodes::record(tree::NodeId id) const {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end()) return std::nullopt;
  const SharedNode& node = memory_.nodes()[index_of(id)];
  return Record{.parent = known->second.parent,
                .name = name_of(node),
                .ino = node.ino,
                .mtime = node.mtime,
                .follows = (node.flags & kNodeFollows) != 0,
                .others = (node.flags & kNodeOthers) != 0};
}

// Two ids of an earlier server may be the same node of this one: the second id then also gets the node, and
// `id_of` returns the first. An id that is kept only for its children gets no node.
bool SurvivingNodes::resolve(tree::NodeId id, tree::NodeId found) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end() || known->second.found != 0 || known->second.lookups == 0) return false;
  known->second.found = found;
  known->second.references = 1;
  ids_.try_emplace(found, id);
  return true;
}

std::vector<tree::NodeId> SurvivingNodes::ids() const {
  const MutexLock lock(mutex_);
  std::vector<tree::NodeId> out;
  out.reserve(nodes_.size());
  for (const auto& [id, local] : nodes_) out.push_back(id);
  return out;
}

// ---- the root

bool SurvivingNodes::same_root(const tree::NodeStat& now, std::uint64_t version) const {
  const SharedHeader& header = memory_.header();
  if (header.root_ino == 0) return true;
  const bool other_file = header.root_version != version;
  return header.root_ino == now.ino && (!other_file || header.root_follows != 0 || now.follows);
}

void SurvivingNodes::note_root(const tree::NodeStat& now, std::uint64_t version) {
  SharedHeader& header = memory_.header();
  header.root_version = version;
  if (now.follows) header.root_follows = 1;
  SurvivingMemory::publish(header.root_ino, now.ino);
}

void SurvivingNodes::note_root_follows() {
  SurvivingMemory::publish(memory_.header().root_follows, 1U);
}

}  // namespace h5mount::survive
