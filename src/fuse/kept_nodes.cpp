#include "kept_nodes.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace h5mount::fuse {
namespace {

constexpr std::size_t kMaxName = 1024;     // FUSE_NAME_MAX
constexpr std::uint32_t kFirstNumber = 2;  // below are 0, no node, and the root

std::uint32_t index_of(tree::NodeId id) {
  return static_cast<std::uint32_t>(id) - kFirstNumber;
}

tree::NodeId id_at(std::uint32_t index, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | (index + kFirstNumber);
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace

KeptNodes::KeptNodes(const KeptMemory& memory) : memory_(memory) {
  const MutexLock lock(mutex_);
  take_over();
}

// ---- what an earlier server wrote

void KeptNodes::take_over() {
  KeptHeader& header = memory_.header();
  header.nodes = std::min<std::uint64_t>(header.nodes, KeptMemory::kNodes);
  header.tails = std::min<std::uint64_t>(header.tails, KeptMemory::kTails);
  std::vector<bool> tails_used(header.tails);
  std::vector<std::uint32_t> sound;
  for (std::uint32_t index = 0; index < header.nodes; ++index)
    if (believable(index, tails_used)) sound.push_back(index);
  drop_unreachable(sound);
  for (const std::uint32_t index : sound) {
    const KeptNode& node = memory_.nodes()[index];
    Local& local = nodes_[id_at(index, node.generation)];
    local.parent = node.parent;
    local.lookups = node.lookups;
  }
  for (const std::uint32_t index : sound)
    if (const auto above = nodes_.find(memory_.nodes()[index].parent); above != nodes_.end())
      ++above->second.children;
  tails_used.assign(tails_used.size(), false);
  std::vector<bool> nodes_used(header.nodes);
  for (const std::uint32_t index : sound) {
    nodes_used[index] = true;
    for (std::uint32_t tail = memory_.nodes()[index].next; tail != kNoTail; tail = memory_.tails()[tail].next)
      tails_used[tail] = true;
  }
  for (std::uint32_t index = 0; index < header.nodes; ++index) {
    if (nodes_used[index]) continue;
    KeptMemory::publish<std::uint8_t>(memory_.nodes()[index].used, 0);
    free_nodes_.push_back(index);
  }
  for (std::uint32_t tail = 0; tail < header.tails; ++tail)
    if (!tails_used[tail]) free_tails_.push_back(tail);
  for (const std::uint32_t index : sound) free_unused(id_at(index, memory_.nodes()[index].generation));
}

// Whether the node has a valid name and its tails belong to no other node.
bool KeptNodes::believable(std::uint32_t index, std::vector<bool>& tails_used) const {
  const KeptNode& node = memory_.nodes()[index];
  if (node.used != 1 || node.name_length == 0 || node.name_length > kMaxName) return false;
  std::size_t held = node.name.size();
  std::vector<std::uint32_t> taken;
  std::uint32_t tail = node.next;
  for (; tail != kNoTail && held < node.name_length; tail = memory_.tails()[tail].next) {
    if (tail >= tails_used.size() || tails_used[tail] || std::ranges::find(taken, tail) != taken.end())
      return false;
    taken.push_back(tail);
    held += memory_.tails()[tail].name.size();
  }
  if (tail != kNoTail || held < node.name_length || !is_name(name_of(node))) return false;
  for (const std::uint32_t one : taken) tails_used[one] = true;
  return true;
}

// Keeps only the nodes whose parents lead to the root, so that cycles are dropped.
void KeptNodes::drop_unreachable(std::vector<std::uint32_t>& indexes) {
  enum class State : std::uint8_t { Unknown, Asked, Good, Bad };
  std::unordered_map<tree::NodeId, State> states;
  for (const std::uint32_t index : indexes)
    states.emplace(id_at(index, memory_.nodes()[index].generation), State::Unknown);
  std::vector<tree::NodeId> way;
  for (const std::uint32_t index : indexes) {
    way.clear();
    State end = State::Good;
    for (tree::NodeId id = id_at(index, memory_.nodes()[index].generation); id != tree::kRootNode;) {
      const auto at = states.find(id);
      end = at == states.end() || at->second == State::Asked ? State::Bad : at->second;
      if (end != State::Unknown) break;
      at->second = State::Asked;
      way.push_back(id);
      id = memory_.nodes()[index_of(id)].parent;
      end = State::Good;
    }
    for (const tree::NodeId id : way) states[id] = end;
  }
  std::erase_if(indexes, [&](std::uint32_t index) {
    return states[id_at(index, memory_.nodes()[index].generation)] != State::Good;
  });
}

// ---- records

std::uint32_t KeptNodes::take_place(std::vector<std::uint32_t>& free, std::uint64_t& used, std::size_t most) {
  if (!free.empty()) {
    const std::uint32_t out = free.back();
    free.pop_back();
    return out;
  }
  if (used == most) throw std::bad_alloc();
  return static_cast<std::uint32_t>(used++);
}

// Writes the tails from the last to the first, so that each refers to one that is already written. They
// belong to the node once the node refers to the first.
std::uint32_t KeptNodes::place_tails(std::string_view rest) {
  constexpr std::size_t kEach = sizeof(KeptTail::name);
  std::uint32_t next = kNoTail;
  while (!rest.empty()) {
    const std::size_t begin = (rest.size() - 1) / kEach * kEach;
    const std::uint32_t index = take_place(free_tails_, memory_.header().tails, KeptMemory::kTails);
    KeptTail& tail = memory_.tails()[index];
    const std::string_view text = rest.substr(begin);
    std::memcpy(tail.name.data(), text.data(), text.size());
    tail.next = std::exchange(next, index);
    rest = rest.substr(0, begin);
  }
  return next;
}

tree::NodeId KeptNodes::place(tree::NodeId parent, std::string_view name, const tree::NodeStat& stat) {
  if (name.size() > kMaxName) throw std::bad_alloc();
  const std::uint32_t index = take_place(free_nodes_, memory_.header().nodes, KeptMemory::kNodes);
  KeptNode& node = memory_.nodes()[index];
  const std::string_view first = name.substr(0, node.name.size());
  node.generation += 1;
  node.parent = parent;
  node.lookups = 1;
  node.ino = stat.ino;
  node.mtime = stat.mtime;
  node.version = 0;
  node.flags = stat.follows ? kNodeFollows : 0;
  node.name_length = static_cast<std::uint16_t>(name.size());
  std::memcpy(node.name.data(), first.data(), first.size());
  node.next = place_tails(name.substr(first.size()));
  KeptMemory::publish<std::uint8_t>(node.used, 1);
  return id_at(index, node.generation);
}

std::string KeptNodes::name_of(const KeptNode& node) const {
  const std::size_t length = std::min<std::size_t>(node.name_length, kMaxName);
  std::string out(node.name.data(), std::min(length, node.name.size()));
  for (std::uint32_t tail = node.next; tail < KeptMemory::kTails && out.size() < length;
       tail = memory_.tails()[tail].next) {
    const auto& text = memory_.tails()[tail].name;
    out.append(text.data(), std::min(text.size(), length - out.size()));
  }
  return out;
}

void KeptNodes::free_place(tree::NodeId id) {
  const std::uint32_t index = index_of(id);
  KeptNode& node = memory_.nodes()[index];
  KeptMemory::publish<std::uint8_t>(node.used, 0);
  std::size_t left = node.name_length > node.name.size() ? node.name_length - node.name.size() : 0;
  for (std::uint32_t tail = node.next; left > 0 && tail < KeptMemory::kTails;
       tail = memory_.tails()[tail].next) {
    free_tails_.push_back(tail);
    left -= std::min(left, sizeof(KeptTail::name));
  }
  free_nodes_.push_back(index);
}

// ---- nodes

tree::NodeId KeptNodes::adopt(const tree::Entry& found, tree::NodeId parent, std::string_view name) {
  const MutexLock lock(mutex_);
  tree::NodeId id = 0;
  if (const auto known = ids_.find(found.node); known != ids_.end()) {
    id = known->second;
    Local& local = nodes_.at(id);
    local.lookups += 1;
    local.references += 1;
    KeptNode& node = memory_.nodes()[index_of(id)];
    if (found.stat.follows) node.flags |= kNodeFollows;
    KeptMemory::publish(node.lookups, local.lookups);
    return id;
  }
  id = place(parent, name, found.stat);
  nodes_[id] = {.found = found.node, .references = 1, .parent = parent, .lookups = 1, .children = 0};
  ids_[found.node] = id;
  if (const auto above = nodes_.find(parent); above != nodes_.end()) ++above->second.children;
  return id;
}

KeptNodes::Dropped KeptNodes::forget(tree::NodeId id, std::uint64_t count) {
  const MutexLock lock(mutex_);
  return drop(id, count);
}

KeptNodes::Dropped KeptNodes::forget_exactly(tree::NodeId id, std::uint64_t count) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  return known != nodes_.end() && known->second.lookups == count ? drop(id, count) : Dropped{};
}

KeptNodes::Dropped KeptNodes::drop(tree::NodeId id, std::uint64_t count) {
  const auto known = nodes_.find(id);
  if (known == nodes_.end()) return {};
  Local& local = known->second;
  local.lookups -= static_cast<std::uint32_t>(std::min<std::uint64_t>(local.lookups, count));
  KeptMemory::publish(memory_.nodes()[index_of(id)].lookups, local.lookups);
  if (local.lookups > 0) return {};
  const Dropped out{std::exchange(local.found, 0), std::exchange(local.references, 0)};
  if (const auto owner = ids_.find(out.node); owner != ids_.end() && owner->second == id) ids_.erase(owner);
  free_unused(id);
  return out;
}

// Frees the node and its ancestors while they have neither lookups nor children: the names of children lead
// through them.
void KeptNodes::free_unused(tree::NodeId id) {
  for (auto known = nodes_.find(id); known != nodes_.end(); known = nodes_.find(id)) {
    if (known->second.lookups > 0 || known->second.children > 0) return;
    const tree::NodeId parent = known->second.parent;
    nodes_.erase(known);
    free_place(id);
    const auto above = nodes_.find(parent);
    if (above == nodes_.end()) return;
    --above->second.children;
    id = parent;
  }
}

bool KeptNodes::note_opened(tree::NodeId id, std::uint64_t version, bool others) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end()) return true;
  KeptNode& node = memory_.nodes()[index_of(id)];
  if (others) node.flags |= kNodeOthers;
  if (!known->second.opened && node.version != 0 && version != node.version) return false;
  known->second.opened = true;
  KeptMemory::publish(node.version, version);
  return true;
}

std::optional<tree::NodeId> KeptNodes::found(tree::NodeId id) const {
  if (id == tree::kRootNode) return id;
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end() || known->second.found == 0) return std::nullopt;
  return known->second.found;
}

std::optional<tree::NodeId> KeptNodes::id_of(tree::NodeId found) const {
  if (found == tree::kRootNode) return found;
  const MutexLock lock(mutex_);
  const auto known = ids_.find(found);
  return known == ids_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<KeptNodes::Record> KeptNodes::record(tree::NodeId id) const {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end()) return std::nullopt;
  const KeptNode& node = memory_.nodes()[index_of(id)];
  return Record{.parent = known->second.parent,
                .name = name_of(node),
                .ino = node.ino,
                .mtime = node.mtime,
                .follows = (node.flags & kNodeFollows) != 0,
                .others = (node.flags & kNodeOthers) != 0};
}

// Two ids of an earlier server may be the same node of this one: the second id then also gets the node, and
// `id_of` returns the first. An id that is kept only for its children gets no node.
bool KeptNodes::resolve(tree::NodeId id, tree::NodeId found) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id);
  if (known == nodes_.end() || known->second.found != 0 || known->second.lookups == 0) return false;
  known->second.found = found;
  known->second.references = 1;
  ids_.try_emplace(found, id);
  return true;
}

std::vector<tree::NodeId> KeptNodes::ids() const {
  const MutexLock lock(mutex_);
  std::vector<tree::NodeId> out;
  out.reserve(nodes_.size());
  for (const auto& [id, local] : nodes_) out.push_back(id);
  return out;
}

// ---- the root

bool KeptNodes::same_root(const tree::NodeStat& now, std::uint64_t version) const {
  const KeptHeader& header = memory_.header();
  if (header.root_ino == 0) return true;
  const bool other_file = header.root_version != version;
  return header.root_ino == now.ino && (!other_file || header.root_follows != 0 || now.follows);
}

void KeptNodes::note_root(const tree::NodeStat& now, std::uint64_t version) {
  KeptHeader& header = memory_.header();
  header.root_version = version;
  if (now.follows) header.root_follows = 1;
  KeptMemory::publish(header.root_ino, now.ino);
}

void KeptNodes::note_root_follows() {
  KeptMemory::publish(memory_.header().root_follows, 1U);
}

}  // namespace h5mount::fuse
