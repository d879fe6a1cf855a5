#include "h5mount/metadata/btree2.h"

#include "h5mount/base/checked.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/metadata/will_read.h"
#include "walk_guard.h"

namespace h5mount::metadata {

namespace {

// The cache holds some 250 nodes of 512 bytes (links), or all nodes of two levels of chunks.
constexpr std::size_t kNodeCacheBytes = 256U << 10;

struct LoadedNode {
  MetadataBlock block;
  format::BTree2Node node;
  unsigned level;
  std::size_t record_size;
  std::size_t record_count;

  ByteSpan record(std::size_t i) const {
    return block.bytes().subspan(node.records_at + i * record_size, record_size);
  }
  std::uint64_t record_offset(std::size_t i) const {
    return block.file_offset() + node.records_at + i * record_size;
  }
  std::size_t memory() const {
    return sizeof *this + block.bytes().size() + node.children.size() * sizeof(format::BTree2Child);
  }
};
using NodePtr = std::shared_ptr<const LoadedNode>;

std::string_view node_name(unsigned level) {
  return level == 0 ? format::kBTree2LeafNode : format::kBTree2InternalNode;
}

// The number of a node's records that lie before the record searched for; `equal`: the next record is the one
// searched for.
struct Position {
  std::size_t before = 0;
  bool equal = false;
};

Result<Position> search(const LoadedNode& node, const BTree2::Compare& compare) {
  std::size_t low = 0, high = node.record_count;
  bool equal = false;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    H5_ASSIGN(const int order, compare(node.record(middle)));
    equal = equal || order == 0;
    if (order > 0)
      low = middle + 1;
    else
      high = middle;
  }
  return Position{low, equal};
}

class Tree final : public BTree2 {
 public:
  Tree(FileMetadataPtr file, format::BTree2Header header, std::uint64_t offset)
      : file_(std::move(file)), header_(std::move(header)), offset_(offset), nodes_(kNodeCacheBytes) {}

  std::uint8_t type() const override { return header_.type; }
  std::uint16_t record_size() const override { return header_.record_size; }
  std::uint64_t record_count() const override { return header_.total_record_count; }
  std::uint64_t file_offset() const override { return offset_; }

  Result<std::optional<Record>> find(const Compare& compare) const override {
    if (empty()) return std::nullopt;
    format::BTree2Child at = root();
    for (unsigned level = header_.depth;; --level) {
      H5_ASSIGN(const NodePtr node, load(at, level));
      H5_ASSIGN(const Position position, search(*node, compare));
      if (position.equal) return copy(*node, position.before);
      if (level == 0) return std::nullopt;
      at = node->node.children[position.before];
    }
  }

  Status for_each(const Visit& visit, const Damaged& damaged) const override {
    if (empty()) return {};
    Walk walk(*this, &visit, damaged ? &damaged : nullptr);
    std::optional<ReadInOrder> ahead;
    if (file_->far())
      walk.read_ahead(
          ahead.emplace(*file_, missing_leaves(kMaxLeaves, [](ByteSpan, ByteSpan) { return true; })));
    H5_TRY(walk.push(root(), header_.depth));
    return walk.run();
  }

  Status for_each_from(const Compare& compare, const Visit& visit) const override {
    if (empty()) return {};
    Walk walk(*this, &visit, nullptr);
    format::BTree2Child at = root();
    for (unsigned level = header_.depth;; --level) {
      H5_TRY(walk.push(at, level));
      H5_ASSIGN(const Position position, search(*walk.top().node, compare));
      walk.top().next = position.before;
      walk.top().child_done = true;
      if (level == 0) return walk.run();
      at = walk.top().node->node.children[position.before];
    }
  }

  void will_visit(const Between& between) const override {
    will_read_structures(*file_, missing_leaves(kMaxAsked, between));
  }

 private:
  // Reads ahead are bounded by numbers of nodes, not by the file: many nodes of a hostile tree may
  // have the same child.
  static constexpr std::size_t kMaxAsked = 1'024;       // nodes of a level, at once
  static constexpr std::size_t kMaxLeaves = 1U << 18;   // that a walk over the whole tree is told of
  static constexpr std::uint64_t kMaxHeld = 16U << 20;  // bytes of nodes that are in memory at once

  // A node that may be of interest, and the records before and behind it: empty where there are none.
  struct Place {
    format::BTree2Child child;
    ByteSpan after, before;
  };
  struct Loaded {
    NodePtr node;
    ByteSpan after, before;
  };

  // `out` gets no more than `most` places.
  static void add_children(const Loaded& at, const Between& between, std::size_t most,
                           std::vector<Place>& out) {
    const LoadedNode& node = *at.node;
    for (std::size_t i = 0; i < node.node.children.size() && out.size() < most; ++i) {
      const ByteSpan after = i > 0 ? node.record(i - 1) : at.after;
      const ByteSpan before = i < node.record_count ? node.record(i) : at.before;
      if (between(after, before)) out.push_back({node.node.children[i], after, before});
    }
  }

  // The ranges of the nodes that are not cached.
  std::vector<ByteRange> missing(const std::vector<Place>& places, unsigned level) const {
    std::vector<ByteRange> out;
    for (const Place& place : places)
      if (!nodes_.find(place.child.address)) out.push_back(range_of(place.child, level));
    return out;
  }
  ByteRange range_of(const format::BTree2Child& child, unsigned level) const {
    if (!check(child, level)) return {};
    return {child.address, checked_add(child.address, node_bytes(child, level)).value_or(child.address)};
  }

  // Loads the places whose nodes can be loaded and fit into `left` bytes, which it reduces.
  std::vector<Loaded> load_level(std::vector<Place>& places, unsigned level, std::uint64_t& left) const {
    const std::uint64_t bytes = 2 * std::uint64_t{header_.node_size};  // as stored, and decoded
    places.resize(static_cast<std::size_t>(std::min<std::uint64_t>(places.size(), left / bytes)));
    left -= places.size() * bytes;
    will_read_structures(*file_, missing(places, level));
    std::vector<Loaded> out;
    for (const Place& place : places)
      if (auto node = load(place.child, level)) out.push_back({*std::move(node), place.after, place.before});
    return out;
  }

  // The leaves of interest that are not cached, the first `most` of them, as far as the bounds above allow.
  // The nodes above are asked for, a level at a time.
  std::vector<ByteRange> missing_leaves(std::size_t most, const Between& between) const {
    std::vector<NodePtr> owners;  // of the bounds
    std::uint64_t left = kMaxHeld;
    std::vector<Place> level;
    if (!empty()) level.push_back({root(), {}, {}});
    for (unsigned at = header_.depth; at > 0 && !level.empty(); --at) {
      std::vector<Place> below;
      for (const Loaded& node : load_level(level, at, left)) {
        owners.push_back(node.node);
        add_children(node, between, most, below);
      }
      level = std::move(below);
    }
    return missing(level, 0);
  }

  // The position of a walk in one node: the next record, and whether the child before it was visited.
  struct Step {
    NodePtr node;
    std::size_t next = 0;
    bool child_done = false;
  };

  // A walk in key order, one step a level: child 0, record 0, child 1, …
  class Walk {
   public:
    // Both functions must outlive the walk. They are pointers because a reference member would bind to the
    // temporary that is made from a lambda or a null pointer. Without `damaged` the first error ends the
    // walk.
    Walk(const Tree& tree, const Visit* visit, const Damaged* damaged)
        : tree_(tree), visit_(visit), damaged_(damaged), guard_(*tree.file_) {}

    Step& top() { return steps_.back(); }
    // It is told of each node that is loaded, and outlives the walk.
    void read_ahead(ReadInOrder& ahead) { ahead_ = &ahead; }

    Status push(const format::BTree2Child& child, unsigned level) {
      H5_TRY(tree_.check(child, level));
      H5_TRY(guard_.enter(child.address, tree_.node_bytes(child, level), node_name(level)));
      if (ahead_ != nullptr) ahead_->reached(child.address);
      H5_ASSIGN(NodePtr node, tree_.load(child, level));
      steps_.push_back({std::move(node), 0, level == 0});
      return {};
    }

    Status run() {
      while (!steps_.empty()) {
        Step& step = top();
        if (!step.child_done) {
          step.child_done = true;
          H5_TRY(descend(step.node->node.children[step.next], step.node->level - 1));
          continue;
        }
        H5_ASSIGN(const bool more, step.node->level == 0 ? visit_leaf(step) : visit_one(step));
        if (!more) return {};
      }
      return {};
    }

   private:
    Status descend(const format::BTree2Child& child, unsigned level) {
      const Status pushed = push(child, level);
      if (pushed || damaged_ == nullptr) return pushed;
      (*damaged_)(pushed.error());
      return {};
    }

    Result<bool> visit_leaf(Step& step) {
      const NodePtr node = step.node;
      for (std::size_t i = step.next; i < node->record_count; ++i) {
        H5_ASSIGN(const bool more, (*visit_)(node->record(i), node->record_offset(i)));
        if (!more) return false;
      }
      steps_.pop_back();
      return true;
    }

    Result<bool> visit_one(Step& step) {
      if (step.next == step.node->record_count) {
        steps_.pop_back();
        return true;
      }
      const std::size_t i = step.next++;
      step.child_done = false;
      return (*visit_)(step.node->record(i), step.node->record_offset(i));
    }

    const Tree& tree_;
    const Visit* visit_;
    const Damaged* damaged_;  // null: the first error ends the walk
    WalkGuard guard_;
    ReadInOrder* ahead_ = nullptr;
    std::vector<Step> steps_;
  };

  bool empty() const { return header_.root_address == format::kUndefinedAddress; }
  format::BTree2Child root() const { return format::btree2_root(header_); }
  std::uint64_t node_bytes(const format::BTree2Child& child, unsigned level) const {
    return format::btree2_node_bytes(header_, file_->sizes(), level, child.record_count);
  }

  // Checks a child. A child without records is sound: deletions leave such nodes.
  Status check(const format::BTree2Child& child, unsigned level) const {
    if (const Status status = format::check_btree2_child(header_, child, level); !status)
      return fail(status.error().within(format::kBTree2Header, offset_));
    return {};
  }

  Result<NodePtr> load(const format::BTree2Child& child, unsigned level) const {
    if (NodePtr held = nodes_.find(child.address);
        held && held->level == level && held->record_count == child.record_count)
      return held;
    H5_TRY(check(child, level));
    auto read = file_->read(child.address, node_bytes(child, level), node_name(level));
    if (!read) return fail(read.error().within(format::kBTree2Header, offset_));
    file_->covers(child.address, header_.node_size);
    format::Cursor cursor = read->cursor(node_name(level));
    auto node = format::decode_btree2_node(cursor, header_, level, child.record_count);
    if (!node) return fail(node.error().within(format::kBTree2Header, offset_));
    auto loaded = std::make_shared<const LoadedNode>(
        LoadedNode{*std::move(read), *std::move(node), level, header_.record_size,
                   static_cast<std::size_t>(child.record_count)});
    nodes_.insert(child.address, loaded, loaded->memory());
    return loaded;
  }

  static std::optional<Record> copy(const LoadedNode& node, std::size_t i) {
    const ByteSpan bytes = node.record(i);
    return Record{{bytes.begin(), bytes.end()}, node.record_offset(i)};
  }

  FileMetadataPtr file_;
  format::BTree2Header header_;
  std::uint64_t offset_;  // absolute offset of the header
  mutable LruCache<LoadedNode> nodes_;
};

}  // namespace

Result<std::shared_ptr<const BTree2>> BTree2::open(FileMetadataPtr file, std::uint64_t header_address,
                                                   const format::BTree2Records& expected) {
  H5_ASSIGN(const MetadataBlock block,
            file->read(header_address, format::btree2_header_bytes(file->sizes()), format::kBTree2Header));
  format::Cursor cursor = block.cursor(format::kBTree2Header);
  H5_ASSIGN(format::BTree2Header header, format::decode_btree2_header(cursor, expected));
  return std::make_shared<const Tree>(std::move(file), std::move(header), block.file_offset());
}

}  // namespace h5mount::metadata
