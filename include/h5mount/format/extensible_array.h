// Extensible arrays: the chunk index of a dataset with one unlimited dimension (specification 3.0,
// "Extensible Array Index"). The header refers to an index block, which holds the first elements itself, then
// addresses of data blocks, then addresses of super blocks; super blocks hold addresses of more and larger
// data blocks.
//
// The elements after the index block's own are divided into super blocks: super block `u` has 2^(u/2) data
// blocks of 2^((u+1)/2) * min_data_block_elements elements each. The first super blocks are not stored: the
// index block holds the addresses of their data blocks.
#pragma once

#include <cstdint>

#include "h5mount/format/fixed_array.h"

namespace h5mount::format {

struct ExtensibleArrayHeader {
  ChunkRecordFormat format;  // of an element
  ChunkClient client = ChunkClient::Plain;
  std::uint8_t element_size = 0;      // bytes
  std::uint8_t max_element_bits = 0;  // the array may hold 2^max_element_bits elements
  std::uint8_t index_block_elements = 0;
  std::uint8_t min_data_block_elements = 0;   // a power of two
  std::uint8_t min_super_block_pointers = 0;  // a power of two, at least 2
  std::uint8_t page_bits = 0;                 // a data block of more than 2^page_bits elements is paged
  std::uint64_t index_block_address = kUndefinedAddress;
  // The header's statistics (numbers of blocks and elements) are not decoded: they may be out of date while a
  // file is written.

  // Derived.
  unsigned super_blocks = 0;         // in total, including those that are not stored
  unsigned direct_super_blocks = 0;  // not stored: the index block addresses their data blocks
  unsigned direct_data_blocks = 0;   // addresses of data blocks in the index block
  unsigned offset_width = 0;         // bytes of a block offset

  // Offsets of parts from the first byte of their block.
  std::size_t index_elements_at = 0;
  std::size_t index_data_blocks_at = 0;   // direct_data_blocks addresses
  std::size_t index_super_blocks_at = 0;  // super_blocks - direct_super_blocks addresses
  std::uint64_t index_block_bytes = 0;
  std::size_t body_at = 0;  // super block: its page bitmap; data block: its elements

  std::uint64_t data_blocks_of(unsigned super_block) const { return std::uint64_t{1} << (super_block / 2); }
  std::uint64_t data_block_elements(unsigned super_block) const {
    return (std::uint64_t{1} << ((super_block + 1) / 2)) * min_data_block_elements;
  }
  // The number of elements before super block `u`, not counting those of the index block.
  std::uint64_t first_element_of(unsigned u) const {
    return ((u < 64 ? std::uint64_t{1} << u : 0) - 1) * min_data_block_elements;
  }
  // The number of data blocks before super block `u`.
  std::uint64_t first_data_block_of(unsigned u) const {
    const std::uint64_t pairs = (std::uint64_t{1} << (u / 2)) - 1;
    return 2 * pairs + (u % 2 != 0 ? data_blocks_of(u - 1) : 0);
  }
  // 0 if the data blocks of this super block are not paged.
  std::uint64_t pages_per_data_block(unsigned super_block) const {
    const std::uint64_t elements = data_block_elements(super_block);
    return page_bits < 64 && elements > (std::uint64_t{1} << page_bits) ? elements >> page_bits : 0;
  }
  std::uint64_t page_bytes() const { return (std::uint64_t{element_size} << page_bits) + 4; }
};

std::uint64_t extensible_array_header_bytes(FileSizes sizes);
// Rejects an array whose elements are not those `expected`, or one that cannot hold as many.
Result<ExtensibleArrayHeader> decode_extensible_array_header(Cursor& cursor, const ArrayOfChunks& expected);

// The block decoders check prefix and checksum. Callers read the blocks' addresses and elements at the
// offsets given above.
Status decode_extensible_array_index_block(Cursor& cursor, const ExtensibleArrayHeader& header,
                                           std::uint64_t header_address);

// Super block `u`: its page bitmap (bit data_block * pages_per_data_block + page; empty if not paged),
// followed by data_blocks_of(u) addresses. Sizes are in bytes; kUnlimited if above limits::kMaxNodeBytes.
std::uint64_t extensible_array_page_bitmap_bytes(const ExtensibleArrayHeader& header, unsigned u);
std::uint64_t extensible_array_super_block_bytes(FileSizes sizes, const ExtensibleArrayHeader& header,
                                                 unsigned u);
Status decode_extensible_array_super_block(Cursor& cursor, const ExtensibleArrayHeader& header,
                                           std::uint64_t header_address, unsigned u);

// Bytes of a data block whose elements are not paged, or of the prefix (before the first page) of a paged
// one. kUnlimited if above limits::kMaxNodeBytes.
std::uint64_t extensible_array_data_block_bytes(const ExtensibleArrayHeader& header, std::uint64_t elements,
                                                bool paged);
Status decode_extensible_array_data_block(Cursor& cursor, const ExtensibleArrayHeader& header,
                                          std::uint64_t header_address, std::uint64_t elements, bool paged);

}  // namespace h5mount::format
