// Version 1 B-tree node, type 1 (raw data chunks):
//
//   "TREE" | type 1 (1) | level (1) | entries used (2) | left sibling (O) | right sibling (O) |
//   entries x { key, child (O) } | key | unused room up to 2K entries
//   key: stored size (4) | filter mask (4) | element offsets (8 x rank) | offset within the element (8)
//
// O: size of offsets. There is no checksum. The last key only bounds the tree from above and is often not
// kept up to date, so it is not looked at; neither are the siblings, which are not needed to walk down.
#include "h5mount/format/chunk_btree1.h"

#include <algorithm>

namespace h5mount {

namespace {

constexpr std::uint64_t kPrefixFixed = 4 + 1 + 1 + 2;

std::uint64_t key_bytes(std::size_t rank) {
  return 4 + 4 + 8 * (std::uint64_t{rank} + 1);
}

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

bool is_undefined(std::uint64_t address, unsigned width) {
  return address == ~std::uint64_t{0} >> (64 - 8 * width);
}

// The element offsets of key `i` (at file offset `place`), scaled; they must lie behind those of the key
// before.
void scale_key(Cursor& cursor, ChunkBTree1Node& node, std::size_t i, const std::byte* offsets,
               std::span<const std::uint64_t> chunk_dims, std::uint64_t place) {
  std::uint64_t* key = node.keys.data() + i * node.rank;
  for (std::size_t d = 0; d < node.rank; ++d) {
    const auto offset = load_le<std::uint64_t>(offsets + 8 * d);
    key[d] = offset / chunk_dims[d];
    if (key[d] * chunk_dims[d] != offset)
      cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "chunk_offset", place + 8 * d)
                      .with_found(offset)
                      .with_detail("not a multiple of the chunk's dimension"));
  }
  if (i > 0 && compare_coordinates(node.key(i - 1), key, node.rank) >= 0)
    cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "chunk_offset", place)
                    .with_detail("keys do not rise"));
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
  const std::size_t stride = static_cast<std::size_t>(key_bytes(node.rank)) + sizes.offsets;
  const std::size_t count = cursor.count(entries, stride, 65'535, "entries_used");
  const std::uint64_t first_at = cursor.here();
  const ByteSpan pairs = cursor.bytes(count * stride, "keys_and_children");
  node.keys.resize(count * node.rank);
  node.children.resize(count);
  // The hot loop of a scan: all bytes are there, so they are loaded without a look at each field's bounds.
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) {
    const std::byte* at = pairs.data() + i * stride;
    ChunkBTree1Node::Child& child = node.children[i];
    child.stored_size = load_le<std::uint32_t>(at);
    child.filter_mask = load_le<std::uint32_t>(at + 4);
    const std::uint64_t address = load_le_width(at + key_bytes(node.rank), sizes.offsets);
    child.address = is_undefined(address, sizes.offsets) ? kUndefinedAddress : address;
    scale_key(cursor, node, i, at + 8, chunk_dims, first_at + i * stride + 8);
  }
  return cursor.finish(std::move(node));
}

}  // namespace h5mount
