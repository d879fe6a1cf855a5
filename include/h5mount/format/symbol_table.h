// The structures of old-style groups: nodes of the version 1 B-tree of a group (specification III.A.1, node
// type 0), symbol table nodes (III.B, III.C) and the local heap's header (III.D).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// A node of a group's B-tree. Child i holds the names after key i, up to and including key i + 1.
struct GroupBTree1Node {
  std::uint8_t level = 0;
  std::vector<std::uint64_t> keys;      // offsets of names in the local heap, one more than children
  std::vector<std::uint64_t> children;  // level 0: of symbol table nodes; above: of nodes one level down
  Field entries_used;                   // the count of children as it is stored

  // The bytes after the last key, where a further child and the key behind it would be. libhdf5 1.8 and later
  // write zeros there; older versions leave deleted entries and uninitialised bytes.
  struct Unused {
    std::uint64_t child = 0, key = 0;
  };
  std::optional<Unused> unused = {};  // nullopt if it is zeros, the node is full or the file ends
};

// Bytes of a node with `entries` children.
std::uint64_t group_btree1_node_bytes(FileSizes sizes, std::uint64_t entries);
// Decodes the first eight bytes only and returns the number of children.
Result<std::uint16_t> decode_group_btree1_entries(Cursor& cursor);
// `max_entries`: 2K of the superblock. `level`: one below the parent's; nullopt for a root.
Result<GroupBTree1Node> decode_group_btree1_node(Cursor& cursor, std::uint64_t max_entries,
                                                 std::optional<std::uint8_t> level);

struct SymbolTableEntry {
  std::uint64_t name_offset = 0;  // in the local heap
  std::uint64_t header_address = kUndefinedAddress;
  bool soft = false;  // a soft link, whose target is the text at target_offset of the local heap
  std::uint32_t target_offset = 0;
};

std::uint64_t symbol_table_node_bytes(FileSizes sizes, std::uint64_t entries);
Result<std::uint16_t> decode_symbol_table_node_entries(Cursor& cursor);
Result<std::vector<SymbolTableEntry>> decode_symbol_table_node(Cursor& cursor, std::uint64_t max_entries);

struct LocalHeapHeader {
  std::uint64_t segment_size = 0;    // bytes
  std::uint64_t free_list_head = 0;  // offset in the segment of the first free block; 1 for none
  std::uint64_t segment_address = kUndefinedAddress;
  std::uint64_t segment_address_offset = 0;  // absolute file offset of the field `segment_address`
};

// A free block of a local heap begins with the offset of the next one and its own size.
struct LocalHeapFreeBlock {
  std::uint64_t next = 0, size = 0;
};
Result<LocalHeapFreeBlock> decode_local_heap_free_block(Cursor& cursor);

std::uint64_t local_heap_header_bytes(FileSizes sizes);
Result<LocalHeapHeader> decode_local_heap_header(Cursor& cursor);

}  // namespace h5mount::format
