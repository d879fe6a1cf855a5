// Version 1 B-tree node, type 0 (groups):
//   "TREE" | type 0 (1) | level (1) | entries used (2) | left sibling (O) | right sibling (O) |
//   entries x { key (L) | child (O) } | key (L) | unused space up to 2K entries
// Symbol table node:
//   "SNOD" | version 1 (1) | reserved (1) | entries (2) | entries x symbol table entry |
//   unused space up to 2K entries
// Symbol table entry:
//   name offset (L) | object header (O) | cache type (4) | reserved (4) | scratch pad (16)
// Local heap:
//   "HEAP" | version 0 (1) | reserved (3) | data segment size (L) | free list head (L) |
//   data segment address (O)
// Free block of the data segment:
//   next free block's offset, 1 for none (L) | size of this one (L)
//
// O, L: size of offsets, of lengths. None of them has a checksum. Sibling addresses are not needed for a
// descent. The scratch pad is read for cache type 2 (soft link) only, where its first four bytes are the
// offset of the target's text in the local heap; for other types it only caches what the object header
// stores.
#include "h5mount/format/symbol_table.h"

namespace h5mount::format {

namespace {

constexpr std::uint32_t kCacheSoftLink = 2;

std::uint64_t tree_prefix_bytes(FileSizes sizes) {
  return 4 + 1 + 1 + 2 + 2 * std::uint64_t{sizes.offsets};
}
std::uint64_t entry_bytes(FileSizes sizes) {
  return std::uint64_t{sizes.lengths} + sizes.offsets + 4 + 4 + 16;
}

// Signature and type. The next field is the level.
void decode_tree_start(Cursor& cursor) {
  cursor.signature("TREE");
  cursor.u8("node_type");
  cursor.require_equal(0, "not a node of a group");
}

std::uint16_t decode_symbols_start(Cursor& cursor) {
  cursor.signature("SNOD");
  cursor.version(1, 1);
  cursor.skip(1, "reserved");
  return cursor.u16("symbol_count");
}

std::optional<GroupBTree1Node::Unused> decode_unused(Cursor& cursor) {
  const FileSizes sizes = cursor.sizes();
  if (cursor.remaining() < std::size_t{sizes.offsets} + sizes.lengths) return std::nullopt;
  const std::uint64_t child = cursor.address("child_address");
  const std::uint64_t key = cursor.plain_length("key");
  if (child == 0 && key == 0) return std::nullopt;
  return GroupBTree1Node::Unused{child, key};
}

SymbolTableEntry decode_entry(Cursor& cursor) {
  SymbolTableEntry entry;
  entry.name_offset = cursor.plain_length("link_name_offset");
  entry.header_address = cursor.address("object_header_address");
  entry.soft = cursor.u32("cache_type") == kCacheSoftLink;
  cursor.skip(4, "reserved");
  const std::uint32_t scratch = cursor.u32("scratch_pad");
  if (entry.soft) entry.target_offset = scratch;
  cursor.skip(12, "scratch_pad");
  return entry;
}

}  // namespace

std::uint64_t group_btree1_node_bytes(FileSizes sizes, std::uint64_t entries) {
  return tree_prefix_bytes(sizes) + entries * (std::uint64_t{sizes.lengths} + sizes.offsets) + sizes.lengths;
}

Result<std::uint16_t> decode_group_btree1_entries(Cursor& cursor) {
  decode_tree_start(cursor);
  cursor.u8("node_level");
  const std::uint16_t entries = cursor.u16("entries_used");
  return cursor.finish(entries);
}

Result<GroupBTree1Node> decode_group_btree1_node(Cursor& cursor, std::uint64_t max_entries,
                                                 std::optional<std::uint8_t> level) {
  GroupBTree1Node node;
  decode_tree_start(cursor);
  node.level = cursor.u8("node_level");
  if (level) cursor.require_equal(*level, "not one below its parent");
  cursor.u16("entries_used");
  const Field entries = cursor.last();
  cursor.address("left_sibling_address");
  cursor.address("right_sibling_address");
  const FileSizes sizes = cursor.sizes();
  const std::size_t count = cursor.count(entries, std::size_t{sizes.lengths} + sizes.offsets, max_entries);
  node.keys.reserve(count + 1);
  node.children.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    node.keys.push_back(cursor.plain_length("key"));
    node.children.push_back(cursor.address("child_address"));
  }
  node.keys.push_back(cursor.plain_length("key"));
  node.entries_used = entries;
  if (count < max_entries) node.unused = decode_unused(cursor);
  return cursor.finish(std::move(node));
}

std::uint64_t symbol_table_node_bytes(FileSizes sizes, std::uint64_t entries) {
  return 4 + 1 + 1 + 2 + entries * entry_bytes(sizes);
}

Result<std::uint16_t> decode_symbol_table_node_entries(Cursor& cursor) {
  const std::uint16_t entries = decode_symbols_start(cursor);
  return cursor.finish(entries);
}

Result<std::vector<SymbolTableEntry>> decode_symbol_table_node(Cursor& cursor, std::uint64_t max_entries) {
  decode_symbols_start(cursor);
  const std::size_t count = cursor.count(static_cast<std::size_t>(entry_bytes(cursor.sizes())), max_entries);
  std::vector<SymbolTableEntry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) entries.push_back(decode_entry(cursor));
  return cursor.finish(std::move(entries));
}

Result<LocalHeapFreeBlock> decode_local_heap_free_block(Cursor& cursor) {
  LocalHeapFreeBlock block;
  block.next = cursor.plain_length("next_free_block");
  block.size = cursor.plain_length("free_block_size");
  cursor.require(block.size >= 2 * std::uint64_t{cursor.sizes().lengths}, "less than its own fields");
  return cursor.finish(block);
}

std::uint64_t local_heap_header_bytes(FileSizes sizes) {
  return 4 + 1 + 3 + 2 * std::uint64_t{sizes.lengths} + sizes.offsets;
}

Result<LocalHeapHeader> decode_local_heap_header(Cursor& cursor) {
  LocalHeapHeader header;
  cursor.signature("HEAP");
  cursor.version(0, 0);
  cursor.skip(3, "reserved");
  header.segment_size = cursor.plain_length("segment_size");
  header.free_list_head = cursor.plain_length("free_list_head");
  header.segment_address = cursor.address("segment_address");
  header.segment_address_offset = cursor.last().offset;
  return cursor.finish(header);
}

}  // namespace h5mount::format
