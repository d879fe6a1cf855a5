// Version 1 B-tree node, type 1 (raw data chunks):
//
//   "TREE" | type 1 (1) | level (1) | entries used (2) | left sibling (O) | right sibling (O) |
//   entries x { key, child (O) } | key | unused room up to 2K entries
//   key: stored size (4) | filter mask (4) | element offsets (8 x rank) | offset within the element (8)
//
// O: size of offsets. There is no checksum. The last key only bounds the tree from above and is often not kept up to
// date, so it is not looked at; neither are the siblings, which are not needed to walk down.
#include "h5mount/format/chunk_btree1.h"

#include <algorithm>

namespace h5mount {

namespace {

constexpr std::uint64_t kPrefixFixed = 4 + 1 + 1 + 2;

std::uint64_t key_bytes(std::size_t rank) { return 4 + 4 + 8 * (std::uint64_t{rank} + 1); }

std::uint16_t decode_prefix(Cursor& cursor, std::uint8_t& level) {
  cursor.signature("TREE");
  const std::uint64_t type_at = cursor.here();
  const std::uint8_t type = cursor.u8("node_type");
  if (cursor.ok() && type != 1)
    cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "node_type", type_at)
                    .with_found(type)
                    .with_expected(1));
  level = cursor.u8("node_level");
  return cursor.u16("entries_used");
}

// One element offset of a key, scaled. Keys above the leaves may be stale but are chunk corners all the same.
std::uint64_t decode_scaled(Cursor& cursor, std::uint64_t chunk_dim) {
  const std::uint64_t at = cursor.here();
  const std::uint64_t offset = cursor.u64("chunk_offset");
  if (offset % chunk_dim != 0)
    cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "chunk_offset", at)
                    .with_found(offset)
                    .with_detail("not a multiple of the chunk's dimension"));
  return offset / chunk_dim;
}

}  // namespace

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
  return kPrefixFixed + 2 * std::uint64_t{sizes.offsets} + entries * (key_bytes(rank) + sizes.offsets);
}

Result<std::uint16_t> decode_chunk_btree1_entries(Cursor& cursor) {
  std::uint8_t level = 0;
  const std::uint16_t entries = decode_prefix(cursor, level);
  return cursor.finish(entries);
}

Result<ChunkBTree1Node> decode_chunk_btree1_node(Cursor& cursor, FileSizes sizes,
                                                 std::span<const std::uint64_t> chunk_dims) {
  ChunkBTree1Node node;
  node.rank = chunk_dims.size();
  const std::uint16_t entries = decode_prefix(cursor, node.level);
  cursor.skip(sizes.offsets, "left_sibling_address");
  cursor.skip(sizes.offsets, "right_sibling_address");
  const std::size_t count =
      cursor.count(entries, static_cast<std::size_t>(key_bytes(node.rank)) + sizes.offsets, 65'535, "entries_used");
  node.keys.reserve(count * node.rank);
  node.children.reserve(count);
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    ChunkBTree1Node::Child child;
    const std::uint64_t key_at = cursor.here();
    child.stored_size = cursor.u32("chunk_size");
    child.filter_mask = cursor.u32("filter_mask");
    for (const std::uint64_t dim : chunk_dims) node.keys.push_back(decode_scaled(cursor, dim));
    cursor.skip(8, "offset_within_element");
    child.address = cursor.address(sizes, "child_address");
    node.children.push_back(child);
    if (cursor.ok() && i > 0 && compare_coordinates(node.key(i - 1), node.key(i), node.rank) >= 0)
      cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "chunk_offset", key_at + 8)
                      .with_detail("keys do not rise"));
  }
  return cursor.finish(std::move(node));
}

}  // namespace h5mount
