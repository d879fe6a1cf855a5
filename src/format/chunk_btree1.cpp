// Version 1 B-tree node, type 1 (raw data chunks):
//
//   "TREE" | type 1 (1) | level (1) | entries used (2) | left sibling (O) | right sibling (O) |
//   entries x { key | child (O) } | key | unused space up to 2K entries
//   key: stored size (4) | filter mask (4) | element offsets (8 x rank) | offset within the element (8)
//
// O: size of offsets. There is no checksum. The sibling addresses are not read: a descent does not need them.
#include "h5mount/format/chunk_btree1.h"

#include <algorithm>

namespace h5mount::format {

namespace {

constexpr std::uint64_t kPrefixFixed = 4 + 1 + 1 + 2;

std::uint64_t key_bytes(std::size_t rank) {
  return 4 + 4 + 8 * (std::uint64_t{rank} + 1);
}

// Signature and type. The next field is the level.
void decode_prefix(Cursor& cursor) {
  cursor.signature("TREE");
  cursor.u8("node_type");
  cursor.require_equal(1, "not a node of chunks");
}

// Scales a key's element offsets. Returns the first dimension whose offset is not a multiple of the chunk
// dimension, or the rank if all are.
std::size_t scale_key(std::uint64_t* key, const std::byte* offsets,
                      std::span<const std::uint64_t> chunk_dims) {
  for (std::size_t d = 0; d < chunk_dims.size(); ++d) {
    const auto offset = load_le<std::uint64_t>(offsets + 8 * d);
    key[d] = offset / chunk_dims[d];
    if (key[d] * chunk_dims[d] != offset) [[unlikely]]
      return d;
  }
  return chunk_dims.size();
}

// Decodes keys and children from `pairs`, which begin at `file_offset`. The hot loop of a scan: error
// details are built only on failure.
void decode_pairs(Cursor& cursor, ByteSpan pairs, std::uint64_t file_offset,
                  std::span<const std::uint64_t> chunk_dims, ChunkBTree1Node& node) {
  const std::size_t width = cursor.sizes().offsets;
  const auto key_size = static_cast<std::size_t>(key_bytes(node.rank));
  const auto refuse = [&](std::size_t i, std::size_t d, std::string_view why) {
    const std::size_t position = i * (key_size + width) + 8 + 8 * d;
    cursor.require(false, {"chunk_offset", file_offset + position, load_le<std::uint64_t>(&pairs[position])},
                   why);
  };
  const std::byte* at = pairs.data();
  for (std::size_t i = 0; i < node.size(); ++i, at += key_size + width) {
    ChunkBTree1Node::Child& child = node.children[i];
    child.stored_size = load_le<std::uint32_t>(at);
    child.filter_mask = load_le<std::uint32_t>(at + 4);
    child.address = load_address(at + key_size, width);
    const std::size_t bad = scale_key(node.keys.data() + i * node.rank, at + 8, chunk_dims);
    if (bad != node.rank) [[unlikely]]
      return refuse(i, bad, "not a multiple of the chunk's dimension");
    if (i > 0 && compare_coordinates(node.key(i - 1), node.key(i), node.rank) >= 0) [[unlikely]]
      return refuse(i, 0, "keys do not rise");
  }
}

// A last key that is not a multiple of the chunk is not a bound of the node either, and differs from the
// parent's.
void decode_last_key(Cursor& cursor, std::span<const std::uint64_t> chunk_dims, ChunkBTree1Node& node) {
  node.last_key_is_of_chunk = cursor.u32("last_key_chunk_size") != 0;
  cursor.u32("last_key_filter_mask");
  const ByteSpan offsets = cursor.bytes(8 * (node.rank + 1), "last_key");
  if (!cursor.ok()) return;
  std::uint64_t* const key = node.keys.data() + node.size() * node.rank;
  if (scale_key(key, offsets.data(), chunk_dims) != node.rank) std::fill_n(key, node.rank, kUnlimited);
}

// Checks the node's first and last child's key against the bounds set by its parent.
void check_bounds(Cursor& cursor, const Field& first, const Field& last, const ChunkBTree1Bounds& bounds,
                  const ChunkBTree1Node& node) {
  if (!cursor.ok() || node.size() == 0) return;
  cursor.require(!bounds.before(node.key(0), node.rank), first, "before what the parent says of this node");
  cursor.require(!bounds.not_before_end(node.key(node.size() - 1), node.rank), last,
                 "behind what the parent says of this node");
}

}  // namespace

bool ChunkBTree1Bounds::contains(const ChunkBTree1Node& node) const {
  if (level && node.level != *level) return false;
  return node.size() == 0 ||
         (!before(node.key(0), node.rank) && !not_before_end(node.key(node.size() - 1), node.rank));
}

bool ChunkBTree1Bounds::cut_short(const ChunkBTree1Node& node) const {
  if (last_key == nullptr) return node.last_key_is_of_chunk;
  return compare_coordinates(node.key(node.size()), last_key, node.rank) != 0;
}

std::size_t ChunkBTree1Node::upper_bound(const std::uint64_t* scaled) const {
  std::size_t low = 0, high = size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (compare_coordinates(key(middle), scaled, rank) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::uint64_t chunk_btree1_node_bytes(FileSizes sizes, std::size_t rank, std::uint64_t entries) {
  return kPrefixFixed + 2 * std::uint64_t{sizes.offsets} + entries * (key_bytes(rank) + sizes.offsets) +
         key_bytes(rank);
}

Result<std::uint16_t> decode_chunk_btree1_entries(Cursor& cursor) {
  decode_prefix(cursor);
  cursor.u8("node_level");
  const std::uint16_t entries = cursor.u16("entries_used");
  return cursor.finish(entries);
}

Result<ChunkBTree1Node> decode_chunk_btree1_node(Cursor& cursor, std::span<const std::uint64_t> chunk_dims,
                                                 const ChunkBTree1Bounds& bounds) {
  ChunkBTree1Node node;
  node.rank = chunk_dims.size();
  decode_prefix(cursor);
  node.level = cursor.u8("node_level");
  if (bounds.level) cursor.require_equal(*bounds.level, "not one below its parent", ErrorCode::Cycle);
  cursor.u16("entries_used");
  const Field entries = node.entries_used = cursor.last();
  const std::size_t width = cursor.sizes().offsets;
  cursor.skip(width, "left_sibling_address");
  cursor.skip(width, "right_sibling_address");
  const std::size_t stride = static_cast<std::size_t>(key_bytes(node.rank)) + width;
  const std::size_t count = cursor.count(entries, stride, UINT16_MAX);
  const std::uint64_t at = cursor.here();
  const ByteSpan pairs = cursor.bytes(count * stride, "keys_and_children");
  node.keys.resize((count + 1) * node.rank);
  node.children.resize(count);
  decode_pairs(cursor, pairs, at, chunk_dims, node);
  const auto key_field = [&](std::size_t i) {
    return Field{"chunk_offset", at + i * stride + 8, load_le<std::uint64_t>(&pairs[i * stride + 8])};
  };
  decode_last_key(cursor, chunk_dims, node);
  if (count > 0) check_bounds(cursor, key_field(0), key_field(count - 1), bounds, node);
  return cursor.finish(std::move(node));
}

}  // namespace h5mount::format
