// Header:
//   "FAHD" | version (1) | client (1) | entry size (1) | page bits (1) | entries (L) |
//   data block address (O) | checksum (4)
// Data block, entries <= 2^page bits:
//   "FADB" | version (1) | client (1) | header address (O) | elements | checksum (4)
// Data block, paged:
//   "FADB" | version (1) | client (1) | header address (O) | page bitmap (one bit per page) | checksum (4) |
//   pages
//   page: 2^page bits elements (the last page: the remainder) | checksum (4)
//
// O, L: size of offsets, of lengths. Page i begins at i times the size of a full page, even if earlier
// pages are not initialised. The version byte is 1 in files with structured chunks, without any other
// difference.
#include "h5mount/format/fixed_array.h"

#include "h5mount/base/checked.h"

namespace h5mount::format {

namespace {

// Computes the sizes of the data block's parts; returns false if they exceed a bound.
bool lay_out(FixedArrayHeader& h, FileSizes sizes) {
  h.body_at = 4 + 1 + 1 + std::size_t{sizes.offsets};
  h.paged = h.page_bits < 64 && h.entry_count > (std::uint64_t{1} << h.page_bits);
  h.page_entries = h.paged ? std::uint64_t{1} << h.page_bits : h.entry_count;
  if (h.page_entries > (limits::kMaxNodeBytes - h.body_at - 4) / h.entry_size) return false;
  if (!h.paged) {
    h.data_block_bytes = h.body_at + h.entry_count * h.entry_size + 4;
    return true;
  }
  h.page_count = divide_up(h.entry_count, h.page_entries);
  h.page_bitmap_bytes = divide_up(h.page_count, 8);
  h.data_block_bytes = h.body_at + h.page_bitmap_bytes + 4;
  const auto pages = checked_mul(h.page_count, h.page_bytes(h.page_entries));
  return pages && checked_add(*pages, h.data_block_bytes);
}

}  // namespace

std::uint64_t fixed_array_header_bytes(FileSizes sizes) {
  return 4 + 1 + 1 + 1 + 1 + std::uint64_t{sizes.lengths} + sizes.offsets + 4;
}

Result<FixedArrayHeader> decode_fixed_array_header(Cursor& cursor, const ArrayOfChunks& expected) {
  FixedArrayHeader h;
  cursor.signature("FAHD");
  cursor.version(0, 1);
  cursor.u8("client_id");
  const Field client_id = cursor.last();
  h.entry_size = cursor.u8("entry_size");
  const Field entry_size = cursor.last();
  h.page_bits = cursor.u8("page_bits");
  h.entry_count = cursor.length("entry_count");
  const Field entry_count = cursor.last();
  h.data_block_address = cursor.address("data_block_address");
  cursor.checksum();
  h.client = expected.record.client;
  check_array_elements(cursor, expected, client_id, entry_size, h.format);
  cursor.require(h.entry_count >= expected.elements, entry_count,
                 "fewer elements than the dataset has chunks");
  if (cursor.ok())
    cursor.require(lay_out(h, cursor.sizes()), entry_count, "too many elements", ErrorCode::LimitExceeded);
  return cursor.finish(h);
}

Status decode_fixed_array_prefix(Cursor& cursor, const FixedArrayHeader& header,
                                 std::uint64_t header_address) {
  decode_array_block_prefix(cursor, "FADB", header.client, header_address);
  return cursor.finish();
}

void check_array_elements(Cursor& cursor, const ArrayOfChunks& expected, const Field& client_id,
                          const Field& element_size, ChunkRecordFormat& format) {
  cursor.require_equal(static_cast<std::uint64_t>(expected.record.client), client_id,
                       "not what the dataset's layout and filters call for");
  const auto made = ChunkRecordFormat::make(expected.record, element_size.value);
  if (cursor.require(made.has_value(), element_size, "not the size of such elements")) format = *made;
}

Status decode_fixed_array_data_block(Cursor& cursor, const FixedArrayHeader& header,
                                     std::uint64_t header_address) {
  decode_array_block_prefix(cursor, "FADB", header.client, header_address);
  if (header.paged)
    cursor.skip(static_cast<std::size_t>(header.page_bitmap_bytes), "page_bitmap");
  else
    cursor.skip(static_cast<std::size_t>(header.entry_count * header.entry_size), "elements");
  cursor.checksum();
  return cursor.finish();
}

Status check_array_page(Cursor& cursor, std::uint64_t entries, std::uint64_t entry_size) {
  cursor.skip(static_cast<std::size_t>(entries * entry_size), "elements");
  cursor.checksum();
  return cursor.finish();
}

void decode_array_block_prefix(Cursor& cursor, std::string_view signature, ChunkClient client,
                               std::uint64_t header_address) {
  cursor.signature(signature);
  cursor.version(0, 1);
  cursor.u8("client_id");
  cursor.require_equal(static_cast<std::uint64_t>(client), "not that of the array's header");
  cursor.address("header_address");
  cursor.require_equal(header_address, "a block of another array");
}

}  // namespace h5mount::format
