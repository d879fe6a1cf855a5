// Headers and nodes of version 2 B-trees (specification III.A.2). The records' contents are decoded by their
// users.
#pragma once

#include <cstdint>
#include <vector>

#include "h5mount/base/structures.h"
#include "h5mount/format/cursor.h"

namespace h5mount::format {

// Capacity of the nodes of one level (0: leaves), derived from node size, record size and depth.
struct BTree2Level {
  std::uint64_t max_records = 0;        // of one node
  std::uint64_t max_total_records = 0;  // of one node and all below it; 2^64 - 1 if it does not fit
};

struct BTree2Header {
  std::uint8_t type = 0;
  std::uint32_t node_size = 0;                     // bytes
  std::uint16_t record_size = 0;                   // bytes
  std::uint16_t depth = 0;                         // levels above the leaves
  std::uint64_t root_address = kUndefinedAddress;  // undefined: no records
  std::uint16_t root_record_count = 0;
  std::uint64_t total_record_count = 0;  // a hint

  // Derived from the above.
  std::uint8_t record_count_width = 0;  // bytes of "number of records in child node", the same in all nodes
  std::vector<BTree2Level> levels;      // depth + 1 of them, leaves first

  // Bytes of "total number of records in child node" in a node at `level`: 0 just above the leaves.
  std::uint8_t total_count_width(unsigned level) const;
};

inline constexpr std::string_view kBTree2Header = structures::kBTree2Header;
inline constexpr std::string_view kBTree2LeafNode = structures::kBTree2LeafNode;
inline constexpr std::string_view kBTree2InternalNode = structures::kBTree2InternalNode;

// The expected records of a tree: their type and range of sizes.
struct BTree2Records {
  std::uint8_t type = 0;
  std::uint64_t min_bytes = 1;
  std::uint64_t max_bytes = UINT16_MAX;
};

std::uint64_t btree2_header_bytes(FileSizes sizes);

// Rejects trees of other records, and depths, sizes and counts that no tree can have, so that `levels` is
// valid.
Result<BTree2Header> decode_btree2_header(Cursor& cursor, const BTree2Records& expected);

struct BTree2Child {
  std::uint64_t address = kUndefinedAddress;
  std::uint64_t record_count = 0;
  std::uint64_t record_count_offset = 0;  // absolute file offset of the field `record_count`
};
BTree2Child btree2_root(const BTree2Header& header);

// Fails if `record_count`, as stored in the parent, exceeds the capacity of a node at `level`. Called when
// the child is followed, so that a bad count affects this child and not its siblings.
Status check_btree2_child(const BTree2Header& header, const BTree2Child& child, unsigned level);

struct BTree2Node {
  std::size_t records_at = 0;         // offset of the first record from the node's first byte
  std::vector<BTree2Child> children;  // records + 1 entries; none in a leaf
};

// The used bytes of a node, from its start: nothing after them is read.
std::uint64_t btree2_node_bytes(const BTree2Header& header, FileSizes sizes, unsigned level,
                                std::uint64_t records);

// Precondition: `records`, as stored in the parent (or header), has passed check_btree2_child.
Result<BTree2Node> decode_btree2_node(Cursor& cursor, const BTree2Header& header, unsigned level,
                                      std::uint64_t records);

}  // namespace h5mount::format
