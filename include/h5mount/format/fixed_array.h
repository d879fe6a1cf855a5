// Fixed arrays: the chunk index of a dataset whose maximum extents are all fixed (specification 3.0, "Fixed
// Array Index"). A header and one data block with one element per chunk, which is divided into pages if there
// are more than 2^page_bits elements.
#pragma once

#include <cstdint>

#include "h5mount/base/limits.h"
#include "h5mount/format/chunk_record_format.h"

namespace h5mount::format {

// The dataset's expectation of a fixed or extensible array: the format of an element (which has no
// coordinates), and how many elements its chunks need.
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

  // Layout of the data block. The decoder bounds all sizes; none overflows.
  bool paged = false;
  std::uint64_t page_entries = 0;       // elements of a full page; all elements if not paged
  std::uint64_t page_count = 0;         // 0 if not paged
  std::uint64_t page_bitmap_bytes = 0;  // 0 if not paged
  std::size_t body_at = 0;              // offset in the data block of its page bitmap, or of its elements
  std::uint64_t data_block_bytes = 0;   // bytes before the first page if paged, else the whole block

  // A page bitmap that is larger than any node is read in parts, where it is needed; its checksum is then not
  // verified.
  static constexpr std::uint64_t kBitmapPartBytes = 64U << 10;
  bool bitmap_in_parts() const { return page_bitmap_bytes > 0 && data_block_bytes > limits::kMaxNodeBytes; }

  std::uint64_t page_bytes(std::uint64_t entries) const { return entries * entry_size + 4; }
  // The size of the data block with all its pages, including those that were never written.
  std::uint64_t data_block_space() const {
    return paged ? data_block_bytes + entry_count * entry_size + 4 * page_count : data_block_bytes;
  }
};

std::uint64_t fixed_array_header_bytes(FileSizes sizes);
// Rejects an array whose elements are not those `expected`, or one that has fewer.
Result<FixedArrayHeader> decode_fixed_array_header(Cursor& cursor, const ArrayOfChunks& expected);

// Checks prefix and checksum of the first data_block_bytes of the data block.
Status decode_fixed_array_data_block(Cursor& cursor, const FixedArrayHeader& header,
                                     std::uint64_t header_address);

// Checks the first `body_at` bytes alone, for a bitmap that is read in parts.
Status decode_fixed_array_prefix(Cursor& cursor, const FixedArrayHeader& header,
                                 std::uint64_t header_address);

// Whether bit `page` of a page bitmap is set; the most significant bit of a byte comes first.
inline bool page_bit(const std::byte* bitmap, std::uint64_t page) {
  return (std::to_integer<unsigned>(bitmap[page / 8]) & (0x80U >> (page % 8))) != 0;
}

// Verifies the checksum of a page of `entries` elements, of a fixed or extensible array.
Status check_array_page(Cursor& cursor, std::uint64_t entries, std::uint64_t entry_size);

// Decodes and checks the common prefix of array blocks: signature, version 0 or 1, client, header address.
void decode_array_block_prefix(Cursor& cursor, std::string_view signature, ChunkClient client,
                               std::uint64_t header_address);

// Checks the fields of an array header that define an element: `client_id` against the dataset's, the element
// size against the client. Called after the checksum was verified.
void check_array_elements(Cursor& cursor, const ArrayOfChunks& expected, const Field& client_id,
                          const Field& element_size, ChunkRecordFormat& format);

}  // namespace h5mount::format
