// One invalid value in each field that a structure's decoder checks; the error must have the right code,
// structure, field and offset.
#include "h5mount/base/limits.h"
#include "h5mount/format/btree2_node.h"
#include "h5mount/format/chunk_btree1.h"
#include "h5mount/format/extensible_array.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/global_heap_format.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/format/superblock.h"
#include "h5mount/format/symbol_table.h"
#include "named_fields.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kNone = format::kUndefinedAddress;
constexpr auto kVersion = ErrorCode::UnsupportedVersion;
constexpr auto kSignature = ErrorCode::BadSignature;
constexpr auto kLimit = ErrorCode::LimitExceeded;
constexpr auto kShort = ErrorCode::Truncated;
constexpr auto kSum = ErrorCode::ChecksumMismatch;

// ---- superblock

TEST(HostileFields, SuperblockOfTheOldVersions) {
  NamedFields s("Superblock");
  s.text("signature", format::kFormatSignature).u8("version", 1).u8("free_space_version", 0);
  s.u8("root_entry_version", 0).u8("reserved[0]", 0).u8("shared_header_version", 0).u8("size_of_offsets", 8);
  s.u8("size_of_lengths", 8).u8("reserved", 0).u16("group_leaf_k", 4).u16("group_internal_k", 16);
  s.u32("file_consistency_flags", 0).u16("indexed_storage_k", 32).u16("reserved[1]", 0);
  s.u64("base_address", 0).u64("free_space", kNone).u64("end_of_file", 4096).u64("driver_info", kNone);
  s.u64("name", 0).u64("header", 96).u32("cache_type", 1).u32("reserved[2]", 0).zeros(16);
  expect_each_rejected(s, format::decode_superblock,
                       {{"signature", 0, kSignature},
                        {"version", 4, kVersion},
                        {"free_space_version", 1, kVersion},
                        {"root_entry_version", 1, kVersion},
                        {"shared_header_version", 255, kVersion},
                        {"size_of_offsets", 3},
                        {"size_of_offsets", 64},
                        {"size_of_lengths", 0},
                        {"size_of_lengths", 24},
                        {"group_leaf_k", 0},
                        {"group_internal_k", 0},
                        {"indexed_storage_k", 0}});
}

TEST(HostileFields, SuperblockOfTheNewVersions) {
  NamedFields s("Superblock");
  s.text("signature", format::kFormatSignature)
      .u8("version", 3)
      .u8("size_of_offsets", 8)
      .u8("size_of_lengths", 8);
  s.u8("flags", 0).u64("base", 0).u64("extension", kNone).u64("end_of_file", 4096).u64("root", 48).checksum();
  expect_each_rejected(
      s, format::decode_superblock,
      {{"version", 255, kVersion}, {"size_of_offsets", 1}, {"size_of_lengths", 9}, {"checksum", 7, kSum}});
}

TEST(HostileFields, BTreeKValuesAndDriverInfo) {
  NamedFields k("BTreeKValuesMessage");
  k.u8("version", 0).u16("indexed_storage_k", 32).u16("group_internal_k", 16).u16("group_leaf_k", 4);
  expect_each_rejected(
      k, format::decode_btree_k_values,
      {{"version", 1, kVersion}, {"indexed_storage_k", 0}, {"group_internal_k", 0}, {"group_leaf_k", 0}});
  NamedFields d("DriverInfoMessage");
  d.u8("version", 0).text("driver_identification", "NCSAmult").u16("size", 0).u8("member_mapping", 1);
  for (const char* const other : {"[1]", "[2]", "[3]", "[4]", "[5]"})
    d.u8(std::string("member_mapping") + other, 1);
  d.u16("reserved", 0)
      .u64("member_address", 0)
      .u64("member_end", 0)
      .text("member_name", std::string_view("%s-s.h5\0", 8));
  expect_each_rejected(d, format::decode_driver_info_message,
                       {{"version", 1, kVersion},
                        {"member_mapping", 7},
                        {"member_mapping[5]", 255},
                        {"member_name", 0x4141414141414141, kShort}});
}

// ---- groups

NamedFields group_node(std::uint64_t entries) {
  NamedFields n("GroupBTree1Node");
  n.text("signature", "TREE").u8("node_type", 0).u8("node_level", 1).u16("entries_used", entries);
  n.address("left", kNone).address("right", kNone);
  for (std::uint64_t i = 0; i < entries; ++i) n.length("key", i).address("child_address", 0x100);
  return n.length("key", entries);
}

TEST(HostileFields, NodesOfGroups) {
  const auto node = [](format::Cursor& c) { return format::decode_group_btree1_node(c, 4, 1); };
  expect_each_rejected(group_node(2), node,
                       {{"signature", 0, kSignature},
                        {"node_type", 1},
                        {"node_level", 0},
                        {"node_level", 2},
                        {"entries_used", 5, kLimit},
                        {"entries_used", 4, kShort}});
  NamedFields s("SymbolTableNode");
  s.text("signature", "SNOD").u8("version", 1).u8("reserved", 0).u16("symbol_count", 1);
  s.length("name", 8).address("header", 96).u32("cache_type", 0).u32("reserved[1]", 0).zeros(16);
  expect_each_rejected(s, [](format::Cursor& c) { return format::decode_symbol_table_node(c, 8); },
                       {{"signature", 0, kSignature},
                        {"version", 0, kVersion},
                        {"symbol_count", 9, kLimit},
                        {"symbol_count", 2, kShort}});
  NamedFields h("LocalHeap");
  h.text("signature", "HEAP")
      .u8("version", 0)
      .zeros(3)
      .length("size", 88)
      .length("free", 1)
      .address("segment", 512);
  expect_each_rejected(h, format::decode_local_heap_header,
                       {{"signature", 0, kSignature}, {"version", 1, kVersion}});
}

// ---- indexes of chunks

TEST(HostileFields, NodesOfChunks) {
  NamedFields n("ChunkBTree1Node");
  n.text("signature", "TREE").u8("node_type", 1).u8("node_level", 1).u16("entries_used", 2);
  n.address("left", kNone).address("right", kNone);
  n.u32("size", 9).u32("mask", 0).u64("chunk_offset[0]", 4).u64("chunk_offset[1]", 0).u64("element", 0);
  n.address("child", 0x100).u32("size[1]", 9).u32("mask[1]", 0).u64("chunk_offset[2]", 8);
  n.u64("chunk_offset[3]", 10).u64("element[1]", 0).address("child[1]", 0x200);
  n.u32("last_size", 0).u32("last_mask", 0).u64("last_key", 12).u64("last_key[1]", 20).u64("element[2]", 0);
  const std::vector<std::uint64_t> dims = {4, 10}, first = {1, 0}, behind = {3, 0};
  const auto child = [&](format::Cursor& c) {
    return format::decode_chunk_btree1_node(c, dims,
                                            {.level = 1, .first = first.data(), .end = behind.data()});
  };
  expect_each_rejected(n, child,
                       {{"signature", 0, kSignature},
                        {"node_type", 0},
                        {"node_level", 0, ErrorCode::Cycle},
                        {"node_level", 2, ErrorCode::Cycle},
                        {"entries_used", 3, kShort},
                        {"chunk_offset[0]", 5},
                        {"chunk_offset[1]", 5},
                        {"chunk_offset[0]", 0},   // before the parent's lower bound
                        {"chunk_offset[2]", 12},  // not before the parent's upper bound
                        {"chunk_offset[2]", 0},   // keys do not ascend
                        {"chunk_offset[0]", 12, ErrorCode::InvalidValue, "chunk_offset[2]"}});
}

// With K = 1 every chunk that is appended may add a level; the level itself is one byte.
TEST(HostileFields, ARootOfChunksHasAnyLevel) {
  NamedFields n("ChunkBTree1Node");
  n.text("signature", "TREE").u8("node_type", 1).u8("node_level", 255).u16("entries_used", 0);
  n.address("left", kNone).address("right", kNone);
  n.u32("last_size", 0).u32("last_mask", 0).u64("last_key", 0).u64("element", 0);
  const std::vector<std::uint64_t> dims = {4};
  format::Cursor cursor = n.cursor();
  const auto node = format::decode_chunk_btree1_node(cursor, dims, {});
  ASSERT_TRUE(node) << node.error().text();
  EXPECT_EQ(node->level, 255);
}

// What stands behind the children that the node counts must not be a child's key.
TEST(HostileFields, NodesOfChunksCountTheirChildren) {
  NamedFields n("ChunkBTree1Node");
  n.text("signature", "TREE").u8("node_type", 1).u8("node_level", 0).u16("entries_used", 2);
  n.address("left", kNone).address("right", kNone);
  for (std::uint64_t i = 0; i < 2; ++i)
    n.u32("size", 9).u32("mask", 0).u64("chunk_offset", 4 * i).u64("element", 0).address("child", 0x100);
  n.u32("last_size", 0).u32("last_mask", 0).u64("last_key", 8).u64("last_element", 0);
  const std::vector<std::uint64_t> dims = {4}, next = {2}, other = {3};
  const auto cut_short = [&](std::uint64_t entries, const std::uint64_t* parent) {
    const NamedFields changed = n.with("entries_used", entries);
    format::Cursor cursor = changed.cursor();
    const auto node = format::decode_chunk_btree1_node(cursor, dims, {});
    EXPECT_TRUE(node) << node.error().text();
    format::ChunkBTree1Bounds bounds;
    bounds.last_key = parent;
    return node && bounds.cut_short(*node);
  };
  EXPECT_FALSE(cut_short(2, nullptr));
  EXPECT_FALSE(cut_short(2, next.data()));
  EXPECT_TRUE(cut_short(2, other.data()));
  EXPECT_TRUE(cut_short(1, nullptr));
  EXPECT_TRUE(cut_short(1, next.data()));
  EXPECT_TRUE(cut_short(0, nullptr));
}

const format::ArrayOfChunks kFilteredChunks{.record = {.client = format::ChunkClient::Filtered},
                                            .elements = 100};

TEST(HostileFields, FixedArrays) {
  NamedFields h("FixedArrayHeader");
  h.text("signature", "FAHD").u8("version", 0).u8("client_id", 1).u8("entry_size", 14).u8("page_bits", 3);
  h.length("entry_count", 100).address("data_block_address", 0x200).checksum();
  const auto header = [](format::Cursor& c) { return format::decode_fixed_array_header(c, kFilteredChunks); };
  expect_each_rejected(h, header,
                       {{"signature", 0, kSignature},
                        {"version", 2, kVersion},
                        {"client_id", 0},
                        {"client_id", 4},
                        {"entry_size", 0},
                        {"entry_size", 12},
                        {"entry_size", 21},
                        {"entry_count", 99},
                        {"entry_count", kNone, kLimit},
                        {"checksum", 1, kSum}});
  NamedFields b("FixedArrayDataBlock");
  b.text("signature", "FADB").u8("version", 0).u8("client_id", 1).address("header_address", 0x100);
  b.uint("page_bitmap", 0, 2).checksum();
  format::Cursor cursor = h.cursor();
  const format::FixedArrayHeader decoded = *header(cursor);
  expect_each_rejected(
      b, [&](format::Cursor& c) { return format::decode_fixed_array_data_block(c, decoded, 0x100); },
      {{"signature", 0, kSignature},
       {"version", 2, kVersion},
       {"client_id", 3},
       {"header_address", 0x101},
       {"checksum", 1, kSum}});
}

TEST(HostileFields, ExtensibleArrays) {
  NamedFields h("ExtensibleArrayHeader");
  h.text("signature", "EAHD")
      .u8("version", 0)
      .u8("client_id", 1)
      .u8("element_size", 14)
      .u8("max_element_bits", 32);
  h.u8("index_block_elements", 4).u8("min_data_block_elements", 16).u8("min_super_block_pointers", 4);
  h.u8("page_bits", 10).uint("statistics", 0, 48).address("index_block_address", 0x200).checksum();
  const auto header = [](format::Cursor& c) {
    return format::decode_extensible_array_header(c, kFilteredChunks);
  };
  expect_each_rejected(h, header,
                       {{"signature", 0, kSignature},
                        {"version", 2, kVersion},
                        {"client_id", 2},
                        {"element_size", 0},
                        {"element_size", 21},
                        {"max_element_bits", 0},
                        {"max_element_bits", 65},
                        {"max_element_bits", 3},  // less than one data block
                        {"max_element_bits", 4, ErrorCode::InvalidValue, "min_super_block_pointers"},
                        {"min_data_block_elements", 0},
                        {"min_data_block_elements", 17},
                        {"min_super_block_pointers", 1},
                        {"min_super_block_pointers", 6},
                        {"page_bits", 4},
                        {"checksum", 1, kSum}});
  format::ArrayOfChunks many = kFilteredChunks;
  many.elements = 501;  // with 8 bits: four in the index block, 496 in five super blocks
  expect_rejected(h, {"max_element_bits", 8},
                  [&](format::Cursor& c) { return format::decode_extensible_array_header(c, many); });
  format::Cursor cursor = h.cursor();
  const format::ExtensibleArrayHeader decoded = *header(cursor);
  NamedFields b("ExtensibleArrayDataBlock");
  b.text("signature", "EADB").u8("version", 0).u8("client_id", 1).address("header_address", 0x100);
  b.uint("block_offset", 0, 4).uint("elements", 0, std::size_t{16} * 14).checksum();
  expect_each_rejected(
      b,
      [&](format::Cursor& c) {
        return format::decode_extensible_array_data_block(c, decoded, 0x100, 16, false);
      },
      {{"signature", 0, kSignature}, {"client_id", 0}, {"header_address", 0}, {"checksum", 1, kSum}});
}

// ---- version 2 B-trees

NamedFields btree2_header(std::uint64_t depth) {
  NamedFields h("BTree2Header");
  h.text("signature", "BTHD").u8("version", 0).u8("type", 5).u32("node_size", 512).u16("record_size", 11);
  h.u16("depth", depth).u16("percents", 0).address("root_address", 0x200).u16("root_record_count", 2);
  return h.length("total", 5).checksum();
}

TEST(HostileFields, BTree2Headers) {
  const auto header = [](format::Cursor& c) {
    return format::decode_btree2_header(c, {.type = 5, .min_bytes = 11, .max_bytes = 600});
  };
  expect_each_rejected(btree2_header(1), header,
                       {{"signature", 0, kSignature},
                        {"version", 2, kVersion},
                        {"type", 6},
                        {"record_size", 10},
                        {"record_size", 601},
                        {"record_size", 600, ErrorCode::InvalidValue, "node_size"},
                        {"node_size", 0},
                        {"root_record_count", 400},
                        {"checksum", 1, kSum}});
  expect_rejected(btree2_header(limits::kMaxTreeDepth), {"depth", limits::kMaxTreeDepth + 1, kLimit}, header);
  expect_rejected(btree2_header(1).with("node_size", limits::kMaxNodeBytes),
                  {"node_size", limits::kMaxNodeBytes + 1, kLimit}, header);
}

TEST(HostileFields, BTree2Nodes) {
  const NamedFields source = btree2_header(1);
  format::Cursor header_cursor = source.cursor();
  const format::BTree2Header header = *format::decode_btree2_header(header_cursor, {.type = 5});
  NamedFields n("BTree2InternalNode");
  n.text("signature", "BTIN").u8("version", 0).u8("type", 5).uint("records", 0, 11);
  n.address("child_address", 0x300).u8("child_record_count", 2).address("child_address[1]", 0x400);
  n.u8("child_record_count[1]", 2).checksum();
  const auto followed = [&](format::Cursor& c) -> Status {
    H5_ASSIGN(const format::BTree2Node node, format::decode_btree2_node(c, header, 1, 1));
    for (const format::BTree2Child& child : node.children)
      H5_TRY(format::check_btree2_child(header, child, 0));
    return {};
  };
  expect_each_rejected(n, followed,
                       {{"signature", 0, kSignature},
                        {"version", 2, kVersion},
                        {"type", 6},
                        {"child_record_count", 46},
                        {"child_record_count[1]", 255},
                        {"checksum", 1, kSum}});
}

// ---- heaps

NamedFields heap_header() {
  NamedFields h("FractalHeapHeader");
  h.text("signature", "FRHP")
      .u8("version", 0)
      .u16("heap_id_length", 7)
      .u16("filters_length", 12)
      .u8("flags", 2);
  h.u32("max_managed_size", 100).length("next_huge_id", 0).address("huge", kNone).length("free", 0);
  h.address("manager", kNone).uint("counts", 0, 64).u16("table_width", 4).length("start_block_size", 512);
  h.length("max_direct_block_size", 4096)
      .u16("max_heap_size", 32)
      .u16("starting_rows", 1)
      .address("root", 0x900);
  h.u16("root_rows", 0).length("filtered_root_size", 300).u32("root_filter_mask", 0);
  h.u8("pipeline_version", 2).u8("filter_count", 1).u16("filter_id", 1).u16("filter_flags", 0);
  return h.u16("values", 1).u32("value", 6).checksum();
}

TEST(HostileFields, FractalHeapHeaders) {
  const auto header = [](format::Cursor& c) { return format::decode_fractal_heap_header(c, 0x100, 7); };
  const auto any_ids = [](format::Cursor& c) {
    return format::decode_fractal_heap_header(c, 0x100, std::nullopt);
  };
  expect_each_rejected(heap_header(), header,
                       {{"signature", 0, kSignature},
                        {"version", 1, kVersion},
                        {"heap_id_length", 0},
                        {"heap_id_length", 8},
                        {"table_width", 0},
                        {"table_width", 5},
                        {"start_block_size", 0},
                        {"start_block_size", 16},
                        {"start_block_size", 8192},
                        {"max_direct_block_size", 4097},
                        {"max_heap_size", 65},
                        {"max_heap_size", 10},
                        {"root_rows", 23},
                        {"filtered_root_size", limits::kMaxNodeBytes + 1, kLimit},
                        {"checksum", 1, kSum}});
  expect_rejected(heap_header().with("max_direct_block_size", limits::kMaxNodeBytes),
                  {"max_direct_block_size", 2 * limits::kMaxNodeBytes, kLimit}, header);
  expect_rejected(heap_header().with("heap_id_length", limits::kMaxHeapIdBytes),
                  {"heap_id_length", limits::kMaxHeapIdBytes + 1}, any_ids);
  expect_rejected(heap_header().with("filtered_root_size", limits::kMaxNodeBytes),
                  {"filtered_root_size", limits::kMaxNodeBytes + 1, kLimit}, header);
}

TEST(HostileFields, BlocksAndIdsOfAFractalHeap) {
  const NamedFields source = heap_header();
  format::Cursor cursor = source.cursor();
  const format::FractalHeapHeader header = *format::decode_fractal_heap_header(cursor, 0x100, 7);
  NamedFields i("FractalHeapIndirectBlock");
  i.text("signature", "FHIB")
      .u8("version", 0)
      .address("heap_header_address", 0x100)
      .u32("block_offset", 0x800);
  for (int n = 0; n < 4; ++n) {
    const std::string suffix = "[" + std::to_string(n) + "]";
    i.address("child_block_address" + suffix, 0x900)
        .length("filtered_block_size" + suffix, 200)
        .u32("mask" + suffix, 0);
  }
  i.checksum();
  const auto indirect = [&](format::Cursor& c) -> Status {
    H5_TRY(format::check_indirect_block(c, header, 0x800, 1));
    H5_TRY(format::decode_indirect_entry(c, header, {.row = 0, .index = 2, .offset = 1024}));
    return {};
  };
  expect_each_rejected(i, indirect,
                       {{"signature", 0, kSignature},
                        {"version", 1, kVersion},
                        {"heap_header_address", 0x101},
                        {"block_offset", 0},
                        {"filtered_block_size[2]", limits::kMaxNodeBytes + 1, kLimit},
                        {"checksum", 1, kSum}});
  NamedFields id("FractalHeapId");
  id.u8("heap_id_type", 0).u32("heap_offset", 100).u16("object_length", 5);
  expect_rejected(id, {"heap_id_type", 0x40, kVersion, "heap_id_type", "heap_id_version"},
                  [&](format::Cursor& c) { return format::decode_heap_id(c, header); });
  expect_rejected(id, {"heap_id_type", 0x30},
                  [&](format::Cursor& c) { return format::decode_heap_id(c, header); });
}

TEST(HostileFields, GlobalHeaps) {
  NamedFields h("GlobalHeapCollection");
  h.text("signature", "GCOL").u8("version", 1).zeros(3).length("collection_size", 4096);
  expect_each_rejected(h, format::decode_global_heap_header,
                       {{"signature", 0, kSignature}, {"version", 2, kVersion}, {"collection_size", 15}});
  NamedFields o("GlobalHeapCollection");
  o.u16("object.index", 1).u16("references", 1).u32("reserved", 0).length("object.size", 48);
  expect_each_rejected(o, [](format::Cursor& c) { return format::decode_global_heap_object(c, 64); },
                       {{"object.size", 49, ErrorCode::OutOfRange}});
}

// ---- object headers, shared messages, the cache image

TEST(HostileFields, ObjectHeaders) {
  NamedFields old("ObjectHeader");
  old.u8("version", 1)
      .u8("reserved", 0)
      .u16("messages", 1)
      .u32("references", 1)
      .u32("header_size", limits::kMaxHeaderBytes);
  old.u32("padding", 0);
  expect_each_rejected(old, format::decode_object_header_prefix,
                       {{"version", 2, kVersion}, {"header_size", limits::kMaxHeaderBytes + 1, kLimit}});
  NamedFields h("ObjectHeader");
  h.text("signature", "OHDR").u8("version", 2).u8("flags", 3).u64("size_of_chunk_0", limits::kMaxHeaderBytes);
  expect_each_rejected(
      h, format::decode_object_header_prefix,
      {{"version", 3, kVersion}, {"flags", 0x43}, {"size_of_chunk_0", limits::kMaxHeaderBytes + 1, kLimit}});
  NamedFields c("ObjectHeaderContinuationMessage");
  c.address("offset", 0x100).length("length", 8);
  expect_each_rejected(c, [](format::Cursor& k) { return format::decode_header_continuation(k, 2); },
                       {{"length", 7}});
  expect_rejected(c.with("length", 4), {"length", 3},
                  [](format::Cursor& k) { return format::decode_header_continuation(k, 1); });
}

}  // namespace
}  // namespace h5mount::test
