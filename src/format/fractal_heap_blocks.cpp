// Direct block:
//   "FHDB" | version 0 (1) | heap header (O) | block offset (w) | [checksum (4)] | objects
//   The checksum is present if the heap's flags declare it. It covers the whole block, with the checksum
//   itself taken as zero.
// Indirect block:
//   "FHIB" | version 0 (1) | heap header (O) | block offset (w) |
//   direct rows x width x { address (O) | if the heap has filters: stored size (L), filter mask (4) } |
//   other rows x width x address (O) | checksum (4)
// Heap id: a first byte of version (bits 6-7), type (4-5) and, for tiny objects, length - 1 (0-3), then
//   managed:       offset (w) | length
//   huge, direct:  address (O) | stored length (L) | if the heap has filters: mask (4), length (L)
//   huge, by key:  key (the rest of the id, at most 8 bytes)
//   tiny:          bytes; in ids of more than 18 bytes the second byte extends the length by eight bits
//
// O, L: size of offsets, of lengths; w: bytes of a heap offset.
#include "h5mount/format/fractal_heap_blocks.h"

#include <algorithm>

#include "h5mount/base/checksum.h"
#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

enum class IdType : unsigned { Managed = 0, Huge = 1, Tiny = 2 };
constexpr std::size_t kShortTinyIds = 18;  // longer ids have the extended form of tiny objects

// Checks signature, version, the heap and the offset in heap space, so that no block is mistaken for another.
void check_prefix(Cursor& cursor, std::string_view signature, const FractalHeapHeader& header,
                  std::uint64_t block_offset) {
  cursor.signature(signature);
  cursor.version(0, 0);
  cursor.address("heap_header_address");
  cursor.require_equal(header.address, "a block of another heap");
  cursor.uint(header.offset_width, "block_offset");
  cursor.require_equal(block_offset, "a block of another place in the heap");
}

// The checksum of a block with the four bytes at `hole` taken as zero. It is computed over a copy, because
// lookup3 mixes twelve bytes at a time. Blocks have at most 64 KiB in practice, and copying costs a tenth of
// the checksum.
std::uint32_t checksum_with_hole(ByteSpan block, std::size_t hole) {
  std::vector<std::byte> copy(block.begin(), block.end());
  std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(hole), 4, std::byte{0});
  return lookup3_checksum(copy);
}

std::size_t direct_huge_id_bytes(FileSizes sizes, bool filtered) {
  return std::size_t{sizes.offsets} + sizes.lengths + (filtered ? std::size_t{4} + sizes.lengths : 0);
}

HugeHeapObject decode_huge(Cursor& cursor, bool filtered) {
  HugeHeapObject object;
  object.address = cursor.address("huge_object_address");
  object.stored_size = cursor.length("huge_object_length");
  object.size = object.stored_size;
  if (filtered) {
    object.filter_mask = cursor.u32("filter_mask");
    object.size = cursor.length("huge_object_memory_size");
  }
  return object;
}

HeapId decode_managed_id(Cursor& cursor, const FractalHeapHeader& header) {
  ManagedHeapId id;
  id.offset = cursor.uint(header.offset_width, "heap_offset");
  id.length = cursor.uint(header.length_width, "object_length");
  return id;
}

HeapId decode_huge_id(Cursor& cursor, const FractalHeapHeader& header) {
  const bool filtered = header.filters.has_value();
  const std::size_t left = std::size_t{header.heap_id_length} - 1;
  if (left >= direct_huge_id_bytes(cursor.sizes(), filtered)) return decode_huge(cursor, filtered);
  return HugeHeapKey{cursor.uint(std::min<std::size_t>(left, 8), "huge_object_key")};
}

HeapId decode_tiny_id(Cursor& cursor, unsigned first, const FractalHeapHeader& header) {
  std::size_t length = first & 0x0F;
  if (header.heap_id_length > kShortTinyIds) length = length << 8 | cursor.u8("extended_length");
  return TinyHeapObject{cursor.bytes(length + 1, "tiny_object")};
}

}  // namespace

Status check_direct_block(Cursor& cursor, const FractalHeapHeader& header, std::uint64_t block_offset) {
  const ByteSpan block = cursor.rest();
  check_prefix(cursor, "FHDB", header, block_offset);
  if (!header.checksummed_direct_blocks) return cursor.finish();
  const std::size_t hole = cursor.position();
  cursor.u32("checksum");
  // A block that is too short to have a checksum has no bytes to be taken as zero.
  if (!cursor.ok() || !metadata_checksums_enabled()) return cursor.finish();
  count_metadata_checksum();
  cursor.require_equal(checksum_with_hole(block, hole), "", ErrorCode::ChecksumMismatch);
  return cursor.finish();
}

Status check_indirect_block(Cursor& cursor, const FractalHeapHeader& header, std::uint64_t block_offset,
                            unsigned rows) {
  check_prefix(cursor, "FHIB", header, block_offset);
  const std::uint64_t bytes = header.indirect_block_bytes(cursor.sizes(), rows);
  cursor.skip(static_cast<std::size_t>(bytes) - 4 - cursor.position(), "child_addresses");
  cursor.checksum();
  return cursor.finish();
}

Result<HeapBlockEntry> decode_indirect_entry(Cursor& cursor, const FractalHeapHeader& header,
                                             const DoublingTable::Entry& entry) {
  const FileSizes sizes = cursor.sizes();
  const std::uint64_t prefix = std::uint64_t{4} + 1 + sizes.offsets + header.offset_width;
  const std::uint64_t direct_entries = std::uint64_t{header.table.max_direct_rows} * header.table.width;
  const bool direct = entry.index < direct_entries;
  const std::uint64_t filtered = header.filters ? std::uint64_t{sizes.lengths} + 4 : 0;
  cursor.seek(static_cast<std::size_t>(prefix + entry.index * sizes.offsets +
                                       std::min(entry.index, direct_entries) * filtered));
  HeapBlockEntry out;
  out.address = cursor.address("child_block_address");
  if (direct && header.filters) {
    out.filtered_size = cursor.length("filtered_block_size");
    if (out.address != kUndefinedAddress) cursor.require_at_most(limits::kMaxNodeBytes, "too large");
    out.filter_mask = cursor.u32("filter_mask");
  }
  return cursor.finish(out);
}

Result<HeapId> decode_heap_id(Cursor& cursor, const FractalHeapHeader& header) {
  const unsigned first = cursor.u8("heap_id_type");
  const Field id_type = cursor.last();
  cursor.require(first >> 6 == 0, id_type.part("heap_id_version", first >> 6), "not version 0",
                 ErrorCode::UnsupportedVersion);
  HeapId id;
  switch (static_cast<IdType>(first >> 4 & 3)) {
    case IdType::Managed:
      id = decode_managed_id(cursor, header);
      break;
    case IdType::Huge:
      id = decode_huge_id(cursor, header);
      break;
    case IdType::Tiny:
      id = decode_tiny_id(cursor, first, header);
      break;
    default:
      cursor.require(false, id_type.part("heap_id_type", first >> 4 & 3), "no such type");
  }
  return cursor.finish(id);
}

BTree2Records huge_records(FileSizes sizes, bool filtered) {
  const std::uint64_t bytes = direct_huge_id_bytes(sizes, filtered) + sizes.lengths;
  return {.type = filtered ? std::uint8_t{2} : std::uint8_t{1}, .min_bytes = bytes};
}

Result<HugeHeapRecord> decode_huge_record(Cursor& cursor, bool filtered) {
  HugeHeapRecord record;
  record.object = decode_huge(cursor, filtered);
  record.key = cursor.plain_length("huge_object_id");
  return cursor.finish(record);
}

}  // namespace h5mount::format
