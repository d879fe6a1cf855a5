#include "h5mount/format/superblock.h"

namespace h5mount {
namespace {

std::uint8_t size_field(Cursor& cursor, std::string_view field) {
  const std::uint8_t size = cursor.u8(field);
  cursor.require(size != 16 && size != 32, field, "wider than 8 bytes", size, ErrorCode::UnsupportedFeature);
  cursor.require(size == 2 || size == 4 || size == 8, field, "not 2, 4 or 8", size);
  return size;
}

void sizes_fields(Cursor& cursor, Superblock& sb) {
  sb.sizes.offsets = size_field(cursor, "size_of_offsets");
  sb.sizes.lengths = size_field(cursor, "size_of_lengths");
}

// Symbol table entry of the root group (III.C):
//
//   | link name offset (L) | object header address (O) | cache type (4) | reserved (4) | scratch-pad (16) |
//
// and in the scratch-pad, for cache type 1: | B-tree address (O) | local heap address (O) |
void root_entry(Cursor& cursor, Superblock& sb) {
  cursor.uint(sb.sizes.lengths, "root.link_name_offset");
  sb.root_address = cursor.address(sb.sizes, "root.object_header_address");
  const std::uint32_t cache_type = cursor.u32("root.cache_type");
  cursor.skip(4, "root.reserved");
  const std::size_t scratch = cursor.position();
  if (cache_type == 1) {
    sb.root_btree_address = cursor.address(sb.sizes, "root.btree_address");
    sb.root_heap_address = cursor.address(sb.sizes, "root.local_heap_address");
  }
  cursor.seek(scratch);
  cursor.skip(16, "root.scratch_pad");
}

// Versions 0 and 1:
//
//   | signature (8) | version | free-space version | root entry version | reserved | shared header version |
//   | size of offsets | size of lengths | reserved | group leaf K (2) | group internal K (2) | flags (4) |
//   | v1: indexed storage K (2) | v1: reserved (2) |
//   | base address (O) | free space (O) | end of file (O) | driver info (O) | root symbol table entry |
void old_superblock(Cursor& cursor, Superblock& sb) {
  cursor.skip(4, "versions");
  sizes_fields(cursor, sb);
  cursor.skip(1, "reserved");
  sb.k.group_leaf = cursor.u16("group_leaf_k");
  cursor.require(sb.k.group_leaf != 0, "group_leaf_k", "is zero");
  sb.k.group_internal = cursor.u16("group_internal_k");
  cursor.require(sb.k.group_internal != 0, "group_internal_k", "is zero");
  sb.status_flags = cursor.u32("file_consistency_flags");
  if (sb.version == 1) {
    sb.k.indexed_storage = cursor.u16("indexed_storage_k");
    cursor.require(sb.k.indexed_storage != 0, "indexed_storage_k", "is zero");
    cursor.skip(2, "reserved");
  }
  sb.base_address = cursor.address(sb.sizes, "base_address");
  cursor.address(sb.sizes, "free_space_address");
  sb.end_of_file = cursor.address(sb.sizes, "end_of_file_address");
  sb.driver_info_address = cursor.address(sb.sizes, "driver_info_address");
  root_entry(cursor, sb);
}

// Versions 2 and 3:
//
//   | signature (8) | version | size of offsets | size of lengths | flags |
//   | base address (O) | extension (O) | end of file (O) | root group's object header (O) | checksum (4) |
void new_superblock(Cursor& cursor, Superblock& sb) {
  sizes_fields(cursor, sb);
  sb.status_flags = cursor.u8("file_consistency_flags");
  sb.base_address = cursor.address(sb.sizes, "base_address");
  sb.extension_address = cursor.address(sb.sizes, "superblock_extension_address");
  sb.end_of_file = cursor.address(sb.sizes, "end_of_file_address");
  sb.root_address = cursor.address(sb.sizes, "root_group_object_header_address");
  cursor.checksum();
}

}  // namespace

Result<Superblock> decode_superblock(Cursor& cursor) {
  Superblock sb;
  cursor.signature(kFormatSignature);
  sb.version = cursor.version(0, 3);
  if (cursor.ok()) sb.version < 2 ? old_superblock(cursor, sb) : new_superblock(cursor, sb);
  return cursor.finish(sb);
}

// | version 0 | indexed storage K (2) | group internal K (2) | group leaf K (2) |
Result<BTreeKValues> decode_btree_k_values(Cursor& cursor) {
  BTreeKValues k;
  cursor.version(0, 0);
  k.indexed_storage = cursor.u16("indexed_storage_k");
  k.group_internal = cursor.u16("group_internal_k");
  k.group_leaf = cursor.u16("group_leaf_k");
  cursor.require(k.indexed_storage != 0 && k.group_internal != 0 && k.group_leaf != 0, "k", "is zero");
  return cursor.finish(k);
}

// | version | strategy | v0: threshold (L), six manager addresses (O) |
// |                    | v1: persistent, threshold (L), page size (L), … |
Result<FileSpaceInfo> decode_file_space_info(Cursor& cursor, FileSizes sizes) {
  FileSpaceInfo info;
  info.version = cursor.version(0, 1);
  info.strategy = cursor.u8("strategy");
  if (info.version == 1) info.persistent = cursor.u8("persistent") != 0;
  info.threshold = cursor.uint(sizes.lengths, "threshold");
  if (info.version == 1) info.page_size = cursor.uint(sizes.lengths, "page_size");
  return cursor.finish(info);
}

}  // namespace h5mount
