// Finds chunks in nodes of B-trees. A node does not name its owner: it is used if its keys and records fit
// this dataset.
#include <algorithm>
#include <unordered_set>

#include "chunks.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/btree2_node.h"
#include "h5mount/format/chunk_btree1.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kMaxNode1 = 64U << 10;
constexpr unsigned kMaxDepth2 = 8;

bool in_grid(std::span<const std::uint64_t> scaled, std::span<const std::uint64_t> grid) {
  return std::ranges::equal(scaled, grid, std::less<>{});
}

// ---- version 1

constexpr std::size_t kEntriesAt = 6;  // offset of the count of entries in a node: 2 bytes

// Decodes a node as if it had `entries` entries.
Result<format::ChunkBTree1Node> decode_node1(const SalvageState& state, const metadata::MetadataBlock& block,
                                             std::uint64_t address, const chunk::ChunkGeometry& geometry,
                                             std::uint16_t entries) {
  std::vector<std::byte> bytes(block.bytes().begin(), block.bytes().end());
  bytes[kEntriesAt] = static_cast<std::byte>(entries & 0xFF);
  bytes[kEntriesAt + 1] = static_cast<std::byte>(entries >> 8);
  format::Cursor cursor(bytes, address, structures::kChunkBTree1Node, state.sizes());
  return format::decode_chunk_btree1_node(cursor, geometry.chunk_dims, {});
}

// The entries of a node before the first that is not valid: a writer that was killed may have written the
// first pages of the node and not the rest, which is older.
std::optional<format::ChunkBTree1Node> begun_node1(SalvageState& state, const metadata::MetadataBlock& block,
                                                   std::uint64_t address,
                                                   const chunk::ChunkGeometry& geometry) {
  std::optional<format::ChunkBTree1Node> out;
  std::uint16_t fewest = 0, most = load_le<std::uint16_t>(&block.bytes()[kEntriesAt]);
  while (fewest + 1 < most && state.spend(1024)) {
    const auto middle = static_cast<std::uint16_t>(fewest + (most - fewest) / 2);
    auto node = decode_node1(state, block, address, geometry, middle);
    if (node) {
      out = *std::move(node);
      fewest = middle;
    } else {
      most = middle;
    }
  }
  while (out && out->level == 0 && out->size() > 0 &&
         !may_be_chunk(state, geometry, out->children.back().address, out->children.back().stored_size)) {
    out->children.pop_back();
    out->keys.resize(out->keys.size() - out->rank);
  }
  return out;
}

std::optional<format::ChunkBTree1Node> node1_at(SalvageState& state, std::uint64_t address,
                                                const chunk::ChunkGeometry& geometry) {
  const auto block = state.file->read_up_to(address, kMaxNode1, structures::kChunkBTree1Node);
  if (!block || block->bytes().size() < kEntriesAt + 2) return std::nullopt;
  format::Cursor cursor = block->cursor(structures::kChunkBTree1Node);
  auto node = format::decode_chunk_btree1_node(cursor, geometry.chunk_dims, {});
  return node ? std::optional(*std::move(node)) : begun_node1(state, *block, address, geometry);
}

class Tree1Gatherer {
 public:
  Tree1Gatherer(SalvageState& state, const chunk::ChunkGeometry& geometry)
      : state_(state), geometry_(geometry) {
    // Nodes of version 1 have no checksum, so that damage in one may be damage in others too.
    out_.certainty = Certainty::Guessed;
  }

  GatheredChunks run(std::uint64_t root) {
    constexpr unsigned kMaxLevels = 256;  // a level is one byte
    take_below(root, kMaxLevels);
    for (const Found& found : state_.unclaimed(Kind::BTree1)) take_below(found.offset, 1);
    if (!out_.chunks.empty()) out_.found_by = "leaves of its chunk index";
    return std::move(out_);
  }

 private:
  // Takes the leaves of the tree at `address`, which could not be followed, if the tree has at most `levels`
  // levels.
  void take_below(std::uint64_t address, unsigned levels) {
    constexpr std::uint64_t kStepsPerChild = 64;
    if (levels == 0 || !state_.spend(1024) || !seen_.insert(address).second) return;
    const auto node = node1_at(state_, address, geometry_);
    if (!node || node->level >= levels || !state_.spend(node->size() * kStepsPerChild)) return;
    if (node->level == 0) return take_leaf(*node);
    for (const format::ChunkBTree1Node::Child& child : node->children) take_below(child.address, node->level);
  }

  void take_leaf(const format::ChunkBTree1Node& leaf) {
    for (std::size_t i = 0; i < leaf.size(); ++i) {
      const format::ChunkBTree1Node::Child& child = leaf.children[i];
      if (!may_be_chunk(state_, geometry_, child.address, child.stored_size)) return;
      if (!in_grid({leaf.key(i), leaf.rank}, geometry_.grid)) return;
    }
    for (std::size_t i = 0; i < leaf.size(); ++i) {
      const format::ChunkBTree1Node::Child& child = leaf.children[i];
      out_.chunks.push_back({row_major_number({leaf.key(i), leaf.rank}, geometry_.grid),
                             {child.address, child.stored_size, child.filter_mask, {}}});
    }
  }

  SalvageState& state_;
  const chunk::ChunkGeometry& geometry_;
  std::unordered_set<std::uint64_t> seen_;
  GatheredChunks out_;
};

// ---- version 2

class Tree2Gatherer {
 public:
  Tree2Gatherer(SalvageState& state, const OpenedDataset& dataset)
      : state_(state),
        geometry_(dataset.geometry),
        type_(geometry_.filtered ? 11 : 10),
        node_size_(dataset.description.layout.bt2_node_size),
        format_(record_format(state, dataset, static_cast<unsigned>(geometry_.grid.size()))) {
    for (unsigned level = 0; format_ && level <= kMaxDepth2; ++level) headers_.push_back(header_of(level));
  }

  GatheredChunks run() {
    if (!format_) return std::move(out_);
    std::size_t leaves = 0, internals = 0;
    for (const Found& found : state_.unclaimed(Kind::BTree2Leaf)) leaves += take_node(found.offset, 0, 0);
    for (const Found& found : state_.unclaimed(Kind::BTree2Internal))
      internals += take_node(found.offset, 1, kMaxDepth2);
    // A leaf may be left from a tree that has changed since; a node that is the only one is the whole tree.
    const bool alone = leaves == 1 && internals == 0 && state_.damaged_trees <= 1;
    out_.certainty = alone ? Certainty::Plausible : Certainty::Guessed;
    if (!out_.chunks.empty()) out_.found_by = "nodes of its chunk index";
    return std::move(out_);
  }

 private:
  // A header of a tree with that depth, from which the widths of the nodes' fields follow.
  std::optional<format::BTree2Header> header_of(unsigned depth) const {
    format::Writer out(state_.sizes());
    out.text("BTHD").uint(0, 1).uint(type_, 1).uint(node_size_, 4).uint(format_->record_bytes(), 2);
    out.uint(depth, 2).uint(100, 1).uint(40, 1).address(0).uint(1, 2).length(1).checksum();
    const std::vector<std::byte> bytes = out.take();
    format::Cursor cursor(bytes, 0, format::kBTree2Header, state_.sizes());
    auto header = format::decode_btree2_header(cursor, {.type = type_});
    return header ? std::optional(*std::move(header)) : std::nullopt;
  }

  // Takes a node of one of these levels.
  bool take_node(std::uint64_t address, unsigned lowest, unsigned highest) {
    constexpr std::uint64_t kStepsPerNode = 64;
    if (!state_.spend(kStepsPerNode)) return false;
    const auto begin = state_.file->read(address, kRecordsAt, format::kBTree2LeafNode);
    if (!begin || begin->bytes()[kTypeAt] != std::byte{type_}) return false;
    const auto block = state_.file->read_up_to(address, node_size_, format::kBTree2LeafNode);
    if (!block || !state_.spend(block->bytes().size() / kStepsPerNode)) return false;
    for (unsigned level = lowest; level <= highest; ++level)
      if (headers_[level] && take_records(*block, address, *headers_[level], level)) return true;
    return false;
  }

  // Only a node's parent states how many records the node has. The checksum is right for one number only, so
  // all are tried.
  bool take_records(const metadata::MetadataBlock& block, std::uint64_t address,
                    const format::BTree2Header& header, unsigned level) {
    const std::uint64_t most = header.levels[level].max_records;
    for (std::uint64_t count = 1; count <= most; ++count) {
      const std::size_t end = kRecordsAt + static_cast<std::size_t>(count) * format_->record_bytes();
      if (end > block.bytes().size() || !is_record(&block.bytes()[end - format_->record_bytes()]))
        return false;
      const std::uint64_t used = format::btree2_node_bytes(header, state_.sizes(), level, count);
      if (used > block.bytes().size() || !state_.spend(used / 64 + 1)) return false;
      format::Cursor cursor(block.bytes().first(static_cast<std::size_t>(used)), address,
                            level == 0 ? format::kBTree2LeafNode : format::kBTree2InternalNode,
                            state_.sizes());
      if (!format::decode_btree2_node(cursor, header, level, count)) continue;
      for (std::uint64_t i = 0; i < count; ++i)
        take_record(&block.bytes()[kRecordsAt + static_cast<std::size_t>(i) * format_->record_bytes()]);
      return true;
    }
    return false;
  }

  bool is_record(const std::byte* at) const {
    const format::ChunkEntry entry = format_->entry(at);
    if (!may_be_chunk(state_, geometry_, entry.address, entry.stored_size)) return false;
    for (unsigned d = 0; d < geometry_.grid.size(); ++d)
      if (format_->coordinate(at, d) >= geometry_.grid[d]) return false;
    return true;
  }

  void take_record(const std::byte* at) {
    const format::ChunkEntry entry = format_->entry(at);
    std::vector<std::uint64_t> scaled(geometry_.grid.size());
    for (unsigned d = 0; d < scaled.size(); ++d) scaled[d] = format_->coordinate(at, d);
    out_.chunks.push_back({row_major_number(scaled, geometry_.grid),
                           {entry.address, entry.stored_size, entry.filter_mask, {}}});
  }

  SalvageState& state_;
  const chunk::ChunkGeometry& geometry_;
  const std::uint8_t type_;
  const std::uint32_t node_size_;
  static constexpr std::size_t kTypeAt = 5, kRecordsAt = 6;  // offsets in a node

  const std::optional<format::ChunkRecordFormat> format_;
  std::vector<std::optional<format::BTree2Header>> headers_;  // by level
  GatheredChunks out_;
};

}  // namespace

GatheredChunks gather_tree1_chunks(SalvageState& state, const OpenedDataset& dataset) {
  return Tree1Gatherer(state, dataset.geometry).run(dataset.description.layout.address);
}

GatheredChunks gather_tree2_chunks(SalvageState& state, const OpenedDataset& dataset) {
  return Tree2Gatherer(state, dataset).run();
}

}  // namespace h5mount::salvage
