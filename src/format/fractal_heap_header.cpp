// Header:
//   "FRHP" | version 0 (1) | heap id length (2) | encoded length F of the filters (2) | flags (1) |
//   maximum managed object (4) | next huge id (L) | huge objects' B-tree (O) |
//   free space (L) | free space manager (O) | managed space (L) | allocated managed space (L) |
//   allocation iterator (L) | managed objects (L) | huge bytes (L) | huge objects (L) | tiny bytes (L) |
//   tiny objects (L) | table width (2) | starting block size (L) | maximum direct block size (L) |
//   maximum heap size, log2 (2) | starting rows of root (2) | root block (O) | rows of root (2) |
//   if F > 0: { filtered root size (L) | root filter mask (4) | filter pipeline message (F) } |
//   checksum (4)
//
// O, L: size of offsets, of lengths.
#include <algorithm>
#include <bit>

#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/format/fractal_heap_blocks.h"

namespace h5mount::format {

namespace {

constexpr std::uint8_t kChecksummedDirectBlocks = 0x02;

unsigned log2_of(std::uint64_t value) {
  return static_cast<unsigned>(std::bit_width(value | 1)) - 1;
}

// Fields that are checked after the checksum.
struct HeapHeaderFields {
  Field heap_id_length, table_width, start_block_size, max_direct_block_size, max_heap_size, root_rows;
  Field filtered_root_size;
};

// Checks the table's numbers, so that shifts and products by them fit 64 bits, and derives the rest.
void lay_out_table(Cursor& cursor, const HeapHeaderFields& fields, DoublingTable& table) {
  cursor.require(std::has_single_bit(table.width), fields.table_width, "not a power of two");
  cursor.require(std::has_single_bit(table.start_block_size), fields.start_block_size, "not a power of two");
  cursor.require(std::has_single_bit(table.max_direct_block_size), fields.max_direct_block_size,
                 "not a power of two");
  cursor.require_at_most(limits::kMaxNodeBytes, fields.max_direct_block_size, "too large");
  cursor.require(table.start_block_size <= table.max_direct_block_size, fields.start_block_size,
                 "larger than the largest direct block");
  if (!cursor.ok()) return;
  const unsigned start_bits = log2_of(table.start_block_size);
  const unsigned direct_bits = log2_of(table.max_direct_block_size);
  table.first_row_bits = start_bits + log2_of(table.width);
  table.max_direct_rows = direct_bits - start_bits + 2;
  const bool fits = table.max_heap_bits <= 64 && table.max_heap_bits >= table.first_row_bits &&
                    table.max_heap_bits >= direct_bits;
  if (cursor.require(fits, fields.max_heap_size, "does not go with the block sizes"))
    table.max_rows = table.max_heap_bits - table.first_row_bits + 1;
}

void decode_statistics(Cursor& cursor, FractalHeapHeader& header) {
  cursor.length("next_huge_id");
  header.huge_btree_address = cursor.address("huge_btree_address");
  cursor.length("free_space");
  header.free_space_manager_address = cursor.address("free_space_manager_address");
  cursor.skip(std::size_t{8} * cursor.sizes().lengths, "counts");
}

void decode_table(Cursor& cursor, FractalHeapHeader& header, HeapHeaderFields& fields) {
  header.table.width = cursor.u16("table_width", &fields.table_width);
  header.table.start_block_size = cursor.length("start_block_size");
  fields.start_block_size = cursor.last();
  header.table.max_direct_block_size = cursor.length("max_direct_block_size");
  fields.max_direct_block_size = cursor.last();
  header.table.max_heap_bits = cursor.u16("max_heap_size", &fields.max_heap_size);
  cursor.skip(2, "starting_root_rows");
  header.root_address = cursor.address("root_address");
  header.root_rows = cursor.u16("root_rows", &fields.root_rows);
}

void decode_filters(Cursor& cursor, std::uint16_t length, FractalHeapHeader& header,
                    HeapHeaderFields& fields) {
  header.filtered_root_size = cursor.length("filtered_root_size");
  fields.filtered_root_size = cursor.last();
  header.root_filter_mask = cursor.u32("root_filter_mask");
  Cursor message = cursor.part(length, "filters", structures::kFilterPipelineMessage);
  if (!cursor.ok()) return;
  if (auto filters = decode_filter_pipeline(message)) header.filters = *std::move(filters);
  cursor.take_error(message);
}

void check(Cursor& cursor, std::optional<std::uint16_t> id_length, const HeapHeaderFields& fields,
           FractalHeapHeader& header) {
  lay_out_table(cursor, fields, header.table);
  cursor.require(header.heap_id_length > 0 && header.heap_id_length <= limits::kMaxHeapIdBytes,
                 fields.heap_id_length, "no such length");
  if (id_length) cursor.require_equal(*id_length, fields.heap_id_length, "not the length of these ids");
  if (!cursor.ok()) return;
  header.offset_width = static_cast<std::uint8_t>((header.table.max_heap_bits + 7) / 8);
  const unsigned direct_bytes = (log2_of(header.table.max_direct_block_size) + 7) / 8;
  header.length_width =
      static_cast<std::uint8_t>(std::min<unsigned>(direct_bytes, bytes_for(header.max_managed_size)));
  cursor.require(header.root_rows <= header.table.max_rows, fields.root_rows,
                 "more rows than heap space has");
  cursor.require(header.direct_block_overhead(cursor.sizes()) < header.table.start_block_size,
                 fields.start_block_size, "a block's own prefix does not fit");
  if (header.root_address != kUndefinedAddress && header.root_rows == 0)
    cursor.require_at_most(limits::kMaxNodeBytes, fields.filtered_root_size, "too large");
}

}  // namespace

Result<std::uint16_t> decode_fractal_heap_filter_length(Cursor& cursor) {
  cursor.signature("FRHP");
  cursor.version(0, 0);
  cursor.skip(2, "heap_id_length");
  const std::uint16_t length = cursor.u16("filters_length");
  return cursor.finish(length);
}

std::uint64_t fractal_heap_header_bytes(FileSizes sizes, std::uint16_t filter_length) {
  const std::uint64_t plain = kFractalHeapHeaderStart + 1 + 4 + 12 * std::uint64_t{sizes.lengths} +
                              3 * std::uint64_t{sizes.offsets} + 2 + 2 + 2 + 2 + 4;
  return filter_length == 0 ? plain : plain + sizes.lengths + 4 + filter_length;
}

Result<FractalHeapHeader> decode_fractal_heap_header(Cursor& cursor, std::uint64_t address,
                                                     std::optional<std::uint16_t> id_length) {
  FractalHeapHeader header;
  HeapHeaderFields fields;
  header.address = address;
  cursor.signature("FRHP");
  cursor.version(0, 0);
  header.heap_id_length = cursor.u16("heap_id_length", &fields.heap_id_length);
  const std::uint16_t filter_length = cursor.u16("filters_length");
  header.checksummed_direct_blocks = (cursor.u8("flags") & kChecksummedDirectBlocks) != 0;
  header.max_managed_size = cursor.u32("max_managed_size");
  decode_statistics(cursor, header);
  decode_table(cursor, header, fields);
  if (filter_length > 0) decode_filters(cursor, filter_length, header, fields);
  cursor.checksum();
  if (cursor.ok()) check(cursor, id_length, fields, header);
  return cursor.finish(std::move(header));
}

unsigned DoublingTable::rows_of(std::uint64_t bytes) const {
  const unsigned bits = log2_of(bytes);
  return bits < first_row_bits ? 0 : bits - first_row_bits + 1;
}

DoublingTable::Entry DoublingTable::entry_at(std::uint64_t offset) const {
  const unsigned bits = log2_of(offset);
  Entry entry;
  entry.row = bits < first_row_bits ? 0 : bits - first_row_bits + 1;
  const std::uint64_t size = block_size(entry.row);
  const std::uint64_t column = (offset - row_offset(entry.row)) / size;
  entry.index = std::uint64_t{entry.row} * width + column;
  entry.offset = row_offset(entry.row) + column * size;
  return entry;
}

std::uint64_t FractalHeapHeader::direct_block_overhead(FileSizes sizes) const {
  return std::uint64_t{4} + 1 + sizes.offsets + offset_width + (checksummed_direct_blocks ? 4 : 0);
}

std::uint64_t FractalHeapHeader::indirect_block_bytes(FileSizes sizes, unsigned rows) const {
  const std::uint64_t direct_rows = std::min(rows, table.max_direct_rows);
  const std::uint64_t filtered = filters ? std::uint64_t{sizes.lengths} + 4 : 0;
  return std::uint64_t{4} + 1 + sizes.offsets + offset_width +
         rows * std::uint64_t{table.width} * sizes.offsets + direct_rows * table.width * filtered + 4;
}

}  // namespace h5mount::format
