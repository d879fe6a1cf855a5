// Header:
//   "BTHD" | version (1) | type (1) | node size (4) | record size (2) | depth (2) | split percent (1) |
//   merge percent (1) | root address (O) | records in root (2) | records in tree (L) | checksum (4)
// Leaf:
//   "BTLF" | version (1) | type (1) | records | checksum (4)
// Internal node:
//   "BTIN" | version (1) | type (1) | records |
//   (records + 1) x { child address (O) | child's records (a) | records of the child's subtree (b) } |
//   checksum (4)
//
// O, L: size of offsets, of lengths. a is the width of the greatest number of records of a *leaf* (no node
// holds more). b is the width of the greatest number of records below a child and so depends on the level; it
// is absent in level 1, just above the leaves. Both follow from node size, record size and depth.
#include "h5mount/format/btree2_node.h"

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

constexpr std::uint64_t kNodeOverhead = 4 + 1 + 1 + 4;  // signature, version, type, checksum
constexpr std::uint64_t kMany = ~std::uint64_t{0};

std::uint64_t pointer_bytes(const BTree2Header& header, FileSizes sizes, unsigned level) {
  return std::uint64_t{sizes.offsets} + header.record_count_width + header.total_count_width(level);
}

// The maximum number of records in and below a node of `max_records`; `below` is the level of its children.
std::uint64_t total_below(std::uint64_t max_records, const BTree2Level& below) {
  const auto children = checked_mul(max_records + 1, below.max_total_records);
  const auto total = children ? checked_add(*children, max_records) : std::nullopt;
  return total.value_or(kMany);
}

// Fills record_count_width and levels; returns false if a node cannot hold a single record.
bool lay_out(BTree2Header& header, FileSizes sizes) {
  if (header.record_size == 0 || header.node_size <= kNodeOverhead) return false;
  const std::uint64_t leaf_records = (header.node_size - kNodeOverhead) / header.record_size;
  header.record_count_width = static_cast<std::uint8_t>(bytes_for(leaf_records));
  header.levels.push_back({leaf_records, leaf_records});
  for (unsigned level = 1; level <= header.depth; ++level) {
    const std::uint64_t pointer = pointer_bytes(header, sizes, level);
    // A node has one child more than it has records.
    if (header.node_size < kNodeOverhead + pointer) return false;
    const std::uint64_t records =
        (header.node_size - kNodeOverhead - pointer) / (header.record_size + pointer);
    header.levels.push_back({records, total_below(records, header.levels.back())});
    if (records == 0) return false;
  }
  return leaf_records > 0;
}

// Fields that are checked after the checksum.
struct NodeHeaderFields {
  Field type, node_size, record_size, depth, root_record_count;
};

void check_header(Cursor& cursor, const BTree2Records& expected, const NodeHeaderFields& fields,
                  BTree2Header& header) {
  cursor.require_equal(expected.type, fields.type, "not a tree of such records");
  cursor.require(header.record_size >= expected.min_bytes && header.record_size <= expected.max_bytes,
                 fields.record_size, "not the size of such records");
  cursor.require_at_most(limits::kMaxNodeBytes, fields.node_size, "too large");
  cursor.require_at_most(limits::kMaxTreeDepth, fields.depth, "too deep");
  if (!cursor.ok()) return;
  if (!cursor.require(lay_out(header, cursor.sizes()), fields.node_size, "no record fits in a node")) return;
  cursor.require(header.root_record_count <= header.levels.back().max_records, fields.root_record_count,
                 "more records than a node holds");
}

}  // namespace

std::uint8_t BTree2Header::total_count_width(unsigned level) const {
  return static_cast<std::uint8_t>(level < 2 ? 0 : bytes_for(levels[level - 1].max_total_records));
}

std::uint64_t btree2_header_bytes(FileSizes sizes) {
  return 4 + 1 + 1 + 4 + 2 + 2 + 1 + 1 + std::uint64_t{sizes.offsets} + 2 + sizes.lengths + 4;
}

Result<BTree2Header> decode_btree2_header(Cursor& cursor, const BTree2Records& expected) {
  BTree2Header header;
  NodeHeaderFields fields;
  cursor.signature("BTHD");
  cursor.version(0, 1);  // 1 in files with structured chunks, without any other change
  header.type = cursor.u8("type", &fields.type);
  header.node_size = cursor.u32("node_size", &fields.node_size);
  header.record_size = cursor.u16("record_size", &fields.record_size);
  header.depth = cursor.u16("depth", &fields.depth);
  cursor.skip(2, "split_and_merge_percent");
  header.root_address = cursor.address("root_address");
  header.root_record_count = cursor.u16("root_record_count", &fields.root_record_count);
  header.total_record_count = cursor.length("total_record_count");
  cursor.checksum();
  if (cursor.ok()) check_header(cursor, expected, fields, header);
  return cursor.finish(std::move(header));
}

BTree2Child btree2_root(const BTree2Header& header) {
  return {.address = header.root_address, .record_count = header.root_record_count};
}

Status check_btree2_child(const BTree2Header& header, const BTree2Child& child, unsigned level) {
  const std::uint64_t most = header.levels[level].max_records;
  if (child.record_count <= most) return {};
  return fail(
      Error(ErrorCode::InvalidValue, kBTree2InternalNode, "child_record_count", child.record_count_offset)
          .with_found(child.record_count)
          .with_expected(most)
          .with_detail("more records than a node holds"));
}

std::uint64_t btree2_node_bytes(const BTree2Header& header, FileSizes sizes, unsigned level,
                                std::uint64_t records) {
  const std::uint64_t pointers = level == 0 ? 0 : (records + 1) * pointer_bytes(header, sizes, level);
  return kNodeOverhead + records * header.record_size + pointers;
}

Result<BTree2Node> decode_btree2_node(Cursor& cursor, const BTree2Header& header, unsigned level,
                                      std::uint64_t records) {
  BTree2Node node;
  cursor.signature(level == 0 ? "BTLF" : "BTIN");
  cursor.version(0, 1);  // 1 in files with structured chunks, without any other change
  cursor.u8("type");
  cursor.require_equal(header.type, "not the type of its tree");
  node.records_at = cursor.position();
  cursor.skip(static_cast<std::size_t>(records * header.record_size), "records");
  if (level > 0) {
    const std::uint8_t total_width = header.total_count_width(level);
    const auto least = static_cast<std::size_t>(pointer_bytes(header, cursor.sizes(), level));
    const std::size_t children =
        cursor.count({"children", cursor.here(), records + 1}, least, limits::kMaxNodeBytes);
    node.children.reserve(children);
    for (std::size_t i = 0; i < children; ++i) {
      BTree2Child child;
      child.address = cursor.address("child_address");
      child.record_count_offset = cursor.here();
      child.record_count = cursor.uint(header.record_count_width, "child_record_count");
      cursor.skip(total_width, "child_total_record_count");
      node.children.push_back(child);
    }
  }
  cursor.checksum();
  return cursor.finish(std::move(node));
}

}  // namespace h5mount::format
