#include "h5mount/format/superblock.h"

#include <bit>

namespace h5mount::format {
namespace {

std::uint8_t size_field(Cursor& cursor, std::string_view field) {
  const std::uint8_t size = cursor.u8(field);
  cursor.require(std::has_single_bit(size) && size >= 2 && size <= 32, "not 2, 4, 8, 16 or 32");
  return size;
}

void sizes_fields(Cursor& cursor, Superblock& sb) {
  sb.sizes.offsets = size_field(cursor, "size_of_offsets");
  sb.sizes.lengths = size_field(cursor, "size_of_lengths");
  cursor.set_sizes(sb.sizes);
}

// Symbol table entry of the root group (III.C):
//
//   | link name offset (L) | object header address (O) | cache type (4) | reserved (4) | scratch-pad (16) |
//
// The scratch pad only caches what the object header stores.
void root_entry(Cursor& cursor, Superblock& sb) {
  cursor.plain_length("root.link_name_offset");
  sb.root_address = cursor.address("root.object_header_address");
  cursor.skip(4, "root.cache_type");
  cursor.skip(4, "root.reserved");
  cursor.skip(16, "root.scratch_pad");
}

// Versions 0 and 1:
//
//   | signature (8) | version | free-space version | root entry version | reserved | shared header version |
//   | size of offsets | size of lengths | reserved | group leaf K (2) | group internal K (2) | flags (4) |
//   | v1: indexed storage K (2) | v1: reserved (2) |
//   | base address (O) | free space (O) | end of file (O) | driver info (O) | root symbol table entry |
std::uint16_t k_value(Cursor& cursor, std::string_view field) {
  const std::uint16_t k = cursor.u16(field);
  cursor.require(k != 0, "is zero");
  return k;
}

void zero_version(Cursor& cursor, std::string_view field) {
  cursor.u8(field);
  cursor.require_equal(0, "is unknown", ErrorCode::UnsupportedVersion);
}

void old_superblock(Cursor& cursor, Superblock& sb) {
  zero_version(cursor, "free_space_version");
  zero_version(cursor, "root_entry_version");
  cursor.skip(1, "reserved");
  zero_version(cursor, "shared_header_version");
  sizes_fields(cursor, sb);
  cursor.skip(1, "reserved");
  sb.k.group_leaf = k_value(cursor, "group_leaf_k");
  sb.k.group_internal = k_value(cursor, "group_internal_k");
  sb.status_flags = cursor.u32("file_consistency_flags");
  if (sb.version == 1) {
    sb.k.indexed_storage = k_value(cursor, "indexed_storage_k");
    cursor.skip(2, "reserved");
  }
  sb.base_address = cursor.address("base_address");
  cursor.address("free_space_address");
  sb.end_of_file = cursor.address("end_of_file_address");
  sb.driver_info_address = cursor.address("driver_info_address");
  root_entry(cursor, sb);
}

// Versions 2 and 3:
//
//   | signature (8) | version | size of offsets | size of lengths | flags |
//   | base address (O) | extension (O) | end of file (O) | root group's object header (O) | checksum (4) |
void new_superblock(Cursor& cursor, Superblock& sb) {
  sizes_fields(cursor, sb);
  sb.status_flags = cursor.u8("file_consistency_flags");
  sb.base_address = cursor.address("base_address");
  sb.extension_address = cursor.address("superblock_extension_address");
  sb.end_of_file = cursor.address("end_of_file_address");
  sb.root_address = cursor.address("root_group_object_header_address");
  cursor.checksum();
}

}  // namespace

Result<Superblock> decode_superblock(Cursor& cursor) {
  Superblock sb;
  cursor.signature(kFormatSignature);
  sb.version = cursor.version(0, 3);
  if (cursor.ok()) sb.version < 2 ? old_superblock(cursor, sb) : new_superblock(cursor, sb);
  sb.bytes = cursor.position();
  return cursor.finish(sb);
}

// | version 0 | indexed storage K (2) | group internal K (2) | group leaf K (2) |
Result<BTreeKValues> decode_btree_k_values(Cursor& cursor) {
  BTreeKValues k;
  cursor.version(0, 0);
  k.indexed_storage = k_value(cursor, "indexed_storage_k");
  k.group_internal = k_value(cursor, "group_internal_k");
  k.group_leaf = k_value(cursor, "group_leaf_k");
  return cursor.finish(k);
}

}  // namespace h5mount::format
