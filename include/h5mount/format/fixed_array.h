// Fixed arrays: the chunk index of a dataset whose maximum extents are all fixed (specification 3.0, "Fixed
// Array Index"). A header, and one data block that holds an element a chunk, in pages where they are many.
#pragma once

#include <cstdint>

#include "h5mount/format/chunk_record_format.h"

namespace h5mount::format {

// What the dataset says of either array that indexes its chunks: what an element is (coordinates: none), and
// how many elements its chunks need.
struct ArrayOfChunks {
  ChunkRecordFormat::Parameters record;
  std::uint64_t elements = 0;
};

struct FixedArrayHeader {
  ChunkRecordFormat format;  // of an element
  ChunkClient client = ChunkClient::Plain;
  std::uint8_t entry_size = 0;  // bytes of an element
  std::uint8_t page_bits = 0;   // a page holds 2^page_bits elements
  std::uint64_t entry_count = 0;
  std::uint64_t data_block_address = kUndefinedAddress;

  // Where elements lie. All sizes are bounded by the decoder, none overflows.
  bool paged = false;
  std::uint64_t page_entries = 0;       // elements of a full page; all of them where not paged
  std::uint64_t page_count = 0;         // 0 where not paged
  std::uint64_t page_bitmap_bytes = 0;  // 0 where not paged
  std::size_t body_at = 0;              // offset in the data block of its page bitmap, or of its elements
  std::uint64_t data_block_bytes = 0;   // paged: all before the first page

  std::uint64_t page_bytes(std::uint64_t entries) const { return entries * entry_size + 4; }
};

std::uint64_t fixed_array_header_bytes(FileSizes sizes);
// Refuses an array of other elements than `expected`, or with too few of them.
Result<FixedArrayHeader> decode_fixed_array_header(Cursor& cursor, const ArrayOfChunks& expected);

// Checks the first data_block_bytes of the data block: all of it, or all before the first page.
Status decode_fixed_array_data_block(Cursor& cursor, const FixedArrayHeader& header,
                                     std::uint64_t header_address);

// Bit `page` of a page bitmap: the most significant bit of a byte first.
inline bool page_bit(const std::byte* bitmap, std::uint64_t page) {
  return (std::to_integer<unsigned>(bitmap[page / 8]) & (0x80U >> (page % 8))) != 0;
}

// A page of either array: `entries` elements and their checksum, which is verified.
Status check_array_page(Cursor& cursor, std::uint64_t entries, std::uint64_t entry_size);

// Checks of every array block: signature, version 0 or 1, client, header address.
void decode_array_block_prefix(Cursor& cursor, std::string_view signature, ChunkClient client,
                               std::uint64_t header_address);

// The fields of an array header that say what an element is, checked once the checksum holds: `client_id`
// against the dataset's, the element's size against the client.
void check_array_elements(Cursor& cursor, const ArrayOfChunks& expected, const Field& client_id,
                          const Field& element_size, ChunkRecordFormat& format);

}  // namespace h5mount::format
