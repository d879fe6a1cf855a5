// Version 1 B-tree: traversed from the root by keys, never by sibling addresses. See format/chunk_btree1.h.
//
// Traversal terminates because levels decrease by one from node to node, keys ascend within a node, and a
// child's keys lie between its own key in the parent and the next one. So no node can be reached by two
// paths, and a scan's work is proportional to the file without a set of visited nodes.
#include <algorithm>
#include <optional>

#include "coordinate_runs.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/will_read.h"
#include "index_kinds.h"
#include "node_cache.h"

namespace h5mount::chunk {

namespace {

constexpr std::string_view kNode = structures::kChunkBTree1Node;
// Nodes have up to 2 x 32 children by default; one read covers such a node.
constexpr std::uint64_t kDefaultMaxChildren = 64;
constexpr std::uint64_t kMaxUsual = 2'048;
constexpr std::size_t kMaxLeaves = 1U << 18;        // that a walk over the whole tree is told of
constexpr std::uint64_t kMaxHeldBytes = 16U << 20;  // of nodes that are loaded to find what to ask for
// A scan skips this many damaged nodes and then stops.
constexpr unsigned kMaxDamagedNodes = 4'096;

// `cut`: the node has more children than it states, behind its last key.
struct Loaded {
  std::shared_ptr<const format::ChunkBTree1Node> node;
  bool cut = false;

  const format::ChunkBTree1Node* operator->() const { return node.get(); }
  Error children_missing() const {
    const format::Field& field = node->entries_used;
    return Error(ErrorCode::InvalidValue, kNode, field.name, field.offset)
        .with_found(field.value)
        .with_detail("the node lacks chunks that lie behind its last entry");
  }
};

class BTree1Index final : public ChunkIndex {
 public:
  BTree1Index(metadata::FileMetadataPtr file, const ChunkGeometry& geometry, std::uint64_t root)
      : ChunkIndex(geometry), file_(std::move(file)), root_(root) {}

  Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const override;
  Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const override;
  void will_find(std::span<const Run> runs) const override;
  Status for_each(const Visit& visit) const override;

 private:
  friend class Walk;
  struct Place {  // of a child
    const format::ChunkBTree1Node* parent;
    std::size_t i;
    std::uint64_t address() const { return parent->children[i].address; }
  };
  ByteRange usual_range(std::uint64_t address) const;
  template <class Wanted>
  std::vector<Place> children_of(const std::vector<Loaded>& nodes, std::size_t most, Wanted wanted) const;
  std::vector<Loaded> load_level(const std::vector<Place>& places, std::uint64_t& left) const;
  template <class Wanted>
  std::vector<ByteRange> missing_leaves(std::size_t most, Wanted wanted) const;
  Result<Loaded> load_root() const;
  std::vector<Loaded> top_level() const;
  Result<Loaded> load_child(const format::ChunkBTree1Node& parent, std::size_t i) const;
  Result<Loaded> load_node(std::uint64_t address, const format::ChunkBTree1Bounds& bounds) const;
  Result<format::ChunkBTree1Node> read_node(std::uint64_t address,
                                            const format::ChunkBTree1Bounds& bounds) const;
  ChunkRecord record(const format::ChunkBTree1Node::Child& child) const;

  metadata::FileMetadataPtr file_;
  std::uint64_t root_;
  mutable NodeCache<format::ChunkBTree1Node> cache_;
};

// A position in the tree's leaves, and the path to it. After an error `next` continues after the node that
// could not be read, or that had fewer children than it should.
class Walk {
 public:
  // `ahead`: told of each node that is loaded; may be null.
  explicit Walk(const BTree1Index& index, metadata::ReadInOrder* ahead = nullptr)
      : index_(index), ahead_(ahead) {}

  // Moves to the first leaf entry that is not before `scaled` (null: the first entry). Returns false after
  // the last one.
  Result<bool> start(const std::uint64_t* scaled) {
    H5_ASSIGN(Loaded root, index_.load_root());
    push(std::move(root), scaled);
    return descend(scaled);
  }
  Result<bool> next() {
    if (path_.empty()) return false;
    ++path_.back().at;
    return descend(nullptr);
  }

  const std::uint64_t* key() const { return path_.back().node->key(path_.back().at); }
  const format::ChunkBTree1Node::Child& child() const { return path_.back().node->children[path_.back().at]; }

 private:
  struct Step {
    Loaded node;
    std::size_t at;
  };

  void push(Loaded node, const std::uint64_t* scaled) {
    std::size_t at = 0;
    if (scaled != nullptr) {
      at = node->upper_bound(scaled);
      // The entry before the bound may hold the chunk: always above the leaves; in a leaf only if the key is
      // equal.
      const bool before = at > 0 && (node->level > 0 ||
                                     format::compare_coordinates(node->key(at - 1), scaled, node->rank) == 0);
      if (before) --at;
    }
    path_.push_back({std::move(node), at});
  }

  // Descends from the current path to a leaf entry.
  Result<bool> descend(const std::uint64_t* scaled) {
    while (!path_.empty()) {
      Step& top = path_.back();
      if (top.at >= top.node->size()) {
        const Loaded left = std::move(top.node);
        path_.pop_back();
        if (left.cut) return fail(left.children_missing());
        if (!path_.empty()) ++path_.back().at;
        scaled = nullptr;  // all further entries are after it
        continue;
      }
      if (top.node->level == 0) return true;
      if (ahead_ != nullptr) ahead_->reached(top.node->children[top.at].address);
      auto below = index_.load_child(*top.node.node, top.at);
      if (!below) return fail(std::move(below).error());
      push(*std::move(below), scaled);
    }
    return false;
  }

  const BTree1Index& index_;
  metadata::ReadInOrder* const ahead_;
  std::vector<Step> path_;
};

Result<ChunkRecord> BTree1Index::find(std::span<const std::uint64_t> scaled) const {
  H5_ASSIGN(Loaded node, load_root());
  for (;;) {
    const std::size_t upper = node->upper_bound(scaled.data());
    const bool behind =
        format::compare_coordinates(node->key(node->size()), scaled.data(), scaled.size()) <= 0;
    if (node.cut && upper == node->size() && behind) return fail(node.children_missing());
    if (upper == 0) return ChunkRecord{};
    if (node->level == 0) {
      const bool there = format::compare_coordinates(node->key(upper - 1), scaled.data(), scaled.size()) == 0;
      return there ? record(node->children[upper - 1]) : ChunkRecord{};
    }
    H5_ASSIGN(node, load_child(*node.node, upper - 1));
  }
}

Status BTree1Index::find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const {
  std::vector<std::uint64_t> at(scaled.begin(), scaled.end());
  Walk walk(*this);
  H5_ASSIGN(bool more, walk.start(at.data()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    // Chunks outside the grid (left after the extent was reduced) are skipped; inside it, tree and grid have
    // the same order.
    while (more && format::compare_coordinates(walk.key(), at.data(), at.size()) < 0) {
      H5_ASSIGN(more, walk.next());
    }
    const bool there = more && format::compare_coordinates(walk.key(), at.data(), at.size()) == 0;
    out[i] = there ? record(walk.child()) : ChunkRecord{};
    if (!next_row_major(at, geometry().grid) && i + 1 < out.size())
      return fail(Error(ErrorCode::Internal, "a run of chunks beyond the grid"));
  }
  return {};
}

ByteRange BTree1Index::usual_range(std::uint64_t address) const {
  const std::uint64_t children =
      std::clamp(std::uint64_t{2} * file_->superblock().k.indexed_storage, kDefaultMaxChildren, kMaxUsual);
  const std::uint64_t bytes =
      format::chunk_btree1_node_bytes(file_->sizes(), geometry().grid.size(), children);
  return {address, checked_add(address, bytes).value_or(address)};
}

// The nodes' children for whose keys `wanted(first, end)` is true, in order, the first `most` of them.
template <class Wanted>
std::vector<BTree1Index::Place> BTree1Index::children_of(const std::vector<Loaded>& nodes, std::size_t most,
                                                         Wanted wanted) const {
  std::vector<Place> out;
  for (const Loaded& node : nodes)
    for (std::size_t i = 0; i < node->size() && out.size() < most; ++i)
      if (wanted(node->key(i), node->key(i + 1))) out.push_back({node.node.get(), i});
  return out;
}

// The root, after it has been asked for; empty if it cannot be loaded.
std::vector<Loaded> BTree1Index::top_level() const {
  const ByteRange range = usual_range(root_);
  if (!cache_.find(root_)) metadata::will_read_structures(*file_, {&range, 1});
  std::vector<Loaded> out;
  if (auto root = load_root()) out.push_back(*std::move(root));
  return out;
}

// Loads the places whose nodes can be loaded, after all that are missing were asked for. Ends when the nodes
// take `left` bytes of memory, which it reduces.
std::vector<Loaded> BTree1Index::load_level(const std::vector<Place>& places, std::uint64_t& left) const {
  std::vector<ByteRange> missing;
  for (const Place& place : places)
    if (!cache_.find(place.address())) missing.push_back(usual_range(place.address()));
  metadata::will_read_structures(*file_, missing);
  std::vector<Loaded> out;
  for (const Place& place : places) {
    auto node = load_child(*place.parent, place.i);
    if (!node) continue;
    const std::uint64_t bytes = (*node)->memory();
    if (bytes > left) break;
    left -= bytes;
    out.push_back(*std::move(node));
  }
  return out;
}

// The leaves for whose keys `wanted(first, end)` is true and that are not cached, in order, the first `most`
// of them, as far as memory for the nodes above allows. These are asked for, a level at a time.
template <class Wanted>
std::vector<ByteRange> BTree1Index::missing_leaves(std::size_t most, Wanted wanted) const {
  std::vector<std::vector<Loaded>> levels{top_level()};  // places refer to nodes of the one above
  std::uint64_t left = kMaxHeldBytes;
  std::vector<ByteRange> out;
  while (!levels.back().empty() && levels.back().front()->level > 0) {
    const std::vector<Place> children = children_of(levels.back(), most, wanted);
    if (levels.back().front()->level > 1) {
      levels.push_back(load_level(children, left));
      continue;
    }
    for (const Place& place : children)
      if (!cache_.find(place.address())) out.push_back(usual_range(place.address()));
    break;
  }
  return out;
}

void BTree1Index::will_find(std::span<const Run> runs) const {
  const CoordinateRuns wanted(runs, geometry().grid);
  metadata::will_read_structures(
      *file_, missing_leaves(kMaxAskedNodes, [&](const std::uint64_t* first, const std::uint64_t* end) {
        return wanted.touch(first, end);
      }));
}

// A damaged node affects only the chunks below it: all others are visited, and then the first error is
// returned.
Status BTree1Index::for_each(const Visit& visit) const {
  std::optional<metadata::ReadInOrder> ahead;
  const auto all = [](const std::uint64_t*, const std::uint64_t*) { return true; };
  if (file_->far()) ahead.emplace(*file_, missing_leaves(kMaxLeaves, all));
  Walk walk(*this, ahead ? &*ahead : nullptr);
  Status status;
  unsigned damaged_nodes = 0;
  for (auto more = walk.start(nullptr);; more = walk.next()) {
    if (!more) {
      if (status) status = fail(std::move(more).error());
      if (++damaged_nodes > kMaxDamagedNodes) return status;
      continue;
    }
    if (!*more) return status;
    const std::span<const std::uint64_t> key(walk.key(), geometry().grid.size());
    const bool inside = std::ranges::equal(key, geometry().grid, std::less<>{});
    if (!inside || walk.child().address == format::kUndefinedAddress) continue;
    if (!visit(key, record(walk.child()))) return status;
  }
}

Result<Loaded> BTree1Index::load_root() const {
  return load_node(root_, format::ChunkBTree1Bounds{});
}

Result<Loaded> BTree1Index::load_child(const format::ChunkBTree1Node& parent, std::size_t i) const {
  return load_node(parent.children[i].address, {.level = static_cast<std::uint8_t>(parent.level - 1),
                                                .first = parent.key(i),
                                                .end = i + 1 < parent.size() ? parent.key(i + 1) : nullptr,
                                                .last_key = parent.key(i + 1)});
}

// A cached node that violates these bounds is decoded again to obtain the error with its offset.
Result<Loaded> BTree1Index::load_node(std::uint64_t address, const format::ChunkBTree1Bounds& bounds) const {
  if (auto kept = cache_.find(address); kept && bounds.contains(*kept)) {
    const bool cut = bounds.cut_short(*kept);
    return Loaded{std::move(kept), cut};
  }
  H5_ASSIGN(format::ChunkBTree1Node node, read_node(address, bounds));
  auto shared = std::make_shared<const format::ChunkBTree1Node>(std::move(node));
  cache_.insert(address, shared, shared->memory());
  return Loaded{shared, bounds.cut_short(*shared)};
}

Result<format::ChunkBTree1Node> BTree1Index::read_node(std::uint64_t address,
                                                       const format::ChunkBTree1Bounds& bounds) const {
  const format::FileSizes sizes = file_->sizes();
  const std::size_t rank = geometry().grid.size();
  const std::uint64_t usual = format::chunk_btree1_node_bytes(sizes, rank, kDefaultMaxChildren);
  file_->covers(address, format::chunk_btree1_node_bytes(
                             sizes, rank, std::uint64_t{2} * file_->superblock().k.indexed_storage));
  H5_ASSIGN(metadata::MetadataBlock block, file_->read_up_to(address, usual, kNode));
  format::Cursor prefix = block.cursor(kNode);
  H5_ASSIGN(const std::uint16_t entries, format::decode_chunk_btree1_entries(prefix));
  const std::uint64_t bytes = format::chunk_btree1_node_bytes(sizes, rank, entries);
  if (bytes > block.bytes().size()) {
    H5_ASSIGN(block, file_->read(address, bytes, kNode));
  }
  format::Cursor cursor = block.cursor(kNode);
  return format::decode_chunk_btree1_node(cursor, geometry().chunk_dims, bounds);
}

ChunkRecord BTree1Index::record(const format::ChunkBTree1Node::Child& child) const {
  ChunkRecord out;
  if (child.address == format::kUndefinedAddress) return out;
  out.address = child.address;
  out.stored_size = geometry().filtered ? child.stored_size : geometry().chunk_bytes;
  out.filter_mask = child.filter_mask;
  return out;
}

}  // namespace

Result<IndexPtr> open_btree1_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                   const ChunkGeometry& geometry) {
  return std::make_unique<BTree1Index>(std::move(file), geometry, layout.address);
}

}  // namespace h5mount::chunk
