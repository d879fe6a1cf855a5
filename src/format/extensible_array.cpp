// Header:
//   "EAHD" | version (1) | client (1) | element size (1) | max element bits (1) | index block elements (1) |
//   min data block elements (1) | min super block pointers (1) | page bits (1) | super blocks created (L) |
//   their bytes (L) | data blocks created (L) | their bytes (L) | highest index set + 1 (L) |
//   elements created (L) | index block address (O) | checksum (4)
// Index block:
//   "EAIB" | version (1) | client (1) | header address (O) | elements | data block addresses (O each) |
//   super block addresses (O each) | checksum (4)
// Super block:
//   "EASB" | version (1) | client (1) | header address (O) | block offset | page bitmap |
//   data block addresses (O each) | checksum (4)
// Data block:
//   "EADB" | version (1) | client (1) | header address (O) | block offset | elements (unless paged) |
//   checksum (4) | if paged: pages of { 2^page bits elements | checksum (4) }
//
// O, L: size of offsets, of lengths. A block offset takes ceil(max element bits / 8) bytes and is not used.
// The page bitmap is data blocks * ceil(pages per block / 8) bytes long, but its bits are numbered without
// gaps from one data block to the next.
#include "h5mount/format/extensible_array.h"

#include <bit>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace {

unsigned exponent_of(std::uint8_t power) {
  return static_cast<unsigned>(std::countr_zero(power));
}

// Fields that are checked after the checksum.
struct ArrayHeaderFields {
  Field client_id, element_size, max_element_bits, min_data_block_elements, min_super_block_pointers,
      page_bits;
};

// Checks the creation parameters against each other and derives the numbers of blocks.
bool derive_counts(Cursor& cursor, const ArrayHeaderFields& fields, ExtensibleArrayHeader& h) {
  cursor.require(h.max_element_bits > 0 && h.max_element_bits <= 64, fields.max_element_bits,
                 "not from 1 to 64");
  cursor.require(std::has_single_bit(h.min_data_block_elements), fields.min_data_block_elements,
                 "not a power of two");
  cursor.require(std::has_single_bit(h.min_super_block_pointers) && h.min_super_block_pointers > 1,
                 fields.min_super_block_pointers, "not a power of two above 1");
  if (!cursor.ok()) return false;
  const unsigned block_bits = exponent_of(h.min_data_block_elements);
  if (!cursor.require(h.max_element_bits >= block_bits, fields.max_element_bits, "less than one data block"))
    return false;
  h.super_blocks = 1 + h.max_element_bits - block_bits;
  h.direct_super_blocks = 2 * exponent_of(h.min_super_block_pointers);
  if (!cursor.require(h.super_blocks >= h.direct_super_blocks, fields.min_super_block_pointers,
                      "more than there are blocks"))
    return false;
  h.direct_data_blocks = 2 * (unsigned{h.min_super_block_pointers} - 1);
  h.offset_width = (unsigned{h.max_element_bits} + 7) / 8;
  return cursor.require(h.pages_per_data_block(h.direct_super_blocks - 1) == 0, fields.page_bits,
                        "a data block of the index block would be paged");
}

// Whether the array can hold the element with the index `last`.
bool holds_element(const ExtensibleArrayHeader& h, std::uint64_t last) {
  if (last < h.index_block_elements) return true;
  const std::uint64_t q = (last - h.index_block_elements) / h.min_data_block_elements;
  return q != ~std::uint64_t{0} && static_cast<unsigned>(std::bit_width(q + 1)) <= h.super_blocks;
}

void lay_out(FileSizes sizes, ExtensibleArrayHeader& h) {
  h.index_elements_at = 4 + 1 + 1 + std::size_t{sizes.offsets};
  h.body_at = h.index_elements_at + h.offset_width;
  h.index_data_blocks_at = h.index_elements_at + std::size_t{h.index_block_elements} * h.element_size;
  h.index_super_blocks_at = h.index_data_blocks_at + std::size_t{h.direct_data_blocks} * sizes.offsets;
  h.index_block_bytes =
      h.index_super_blocks_at + std::size_t{h.super_blocks - h.direct_super_blocks} * sizes.offsets + 4;
}

}  // namespace

std::uint64_t extensible_array_header_bytes(FileSizes sizes) {
  return 4 + 8 + 6 * std::uint64_t{sizes.lengths} + sizes.offsets + 4;
}

Result<ExtensibleArrayHeader> decode_extensible_array_header(Cursor& cursor, const ArrayOfChunks& expected) {
  ExtensibleArrayHeader h;
  ArrayHeaderFields fields;
  cursor.signature("EAHD");
  cursor.version(0, 1);
  cursor.u8("client_id", &fields.client_id);
  h.element_size = cursor.u8("element_size", &fields.element_size);
  h.max_element_bits = cursor.u8("max_element_bits", &fields.max_element_bits);
  h.index_block_elements = cursor.u8("index_block_elements");
  h.min_data_block_elements = cursor.u8("min_data_block_elements", &fields.min_data_block_elements);
  h.min_super_block_pointers = cursor.u8("min_super_block_pointers", &fields.min_super_block_pointers);
  h.page_bits = cursor.u8("page_bits", &fields.page_bits);
  cursor.skip(6 * std::size_t{cursor.sizes().lengths}, "statistics");
  h.index_block_address = cursor.address("index_block_address");
  cursor.checksum();
  h.client = expected.record.client;
  check_array_elements(cursor, expected, fields.client_id, fields.element_size, h.format);
  if (!cursor.ok() || !derive_counts(cursor, fields, h)) return fail(*cursor.error());
  cursor.require(expected.elements == 0 || holds_element(h, expected.elements - 1), fields.max_element_bits,
                 "the dataset has more chunks than the array can hold");
  lay_out(cursor.sizes(), h);
  return cursor.finish(h);
}

Status decode_extensible_array_index_block(Cursor& cursor, const ExtensibleArrayHeader& header,
                                           std::uint64_t header_address) {
  decode_array_block_prefix(cursor, "EAIB", header.client, header_address);
  cursor.skip(std::size_t{header.index_block_elements} * header.element_size, "elements");
  cursor.skip(std::size_t{header.direct_data_blocks} * cursor.sizes().offsets, "data_block_addresses");
  cursor.skip(std::size_t{header.super_blocks - header.direct_super_blocks} * cursor.sizes().offsets,
              "super_block_addresses");
  cursor.checksum();
  return cursor.finish();
}

std::uint64_t extensible_array_page_bitmap_bytes(const ExtensibleArrayHeader& header, unsigned u) {
  const auto bytes = checked_mul(header.data_blocks_of(u), divide_up(header.pages_per_data_block(u), 8));
  return bytes && *bytes <= limits::kMaxNodeBytes ? *bytes : kUnlimited;
}

std::uint64_t extensible_array_super_block_bytes(FileSizes sizes, const ExtensibleArrayHeader& header,
                                                 unsigned u) {
  const std::uint64_t bitmap = extensible_array_page_bitmap_bytes(header, u);
  if (bitmap == kUnlimited) return kUnlimited;
  return header.body_at + bitmap + header.data_blocks_of(u) * sizes.offsets + 4;
}

Status decode_extensible_array_super_block(Cursor& cursor, const ExtensibleArrayHeader& header,
                                           std::uint64_t header_address, unsigned u) {
  decode_array_block_prefix(cursor, "EASB", header.client, header_address);
  cursor.skip(header.offset_width, "block_offset");
  cursor.skip(static_cast<std::size_t>(extensible_array_page_bitmap_bytes(header, u)), "page_bitmap");
  cursor.skip(static_cast<std::size_t>(header.data_blocks_of(u) * cursor.sizes().offsets),
              "data_block_addresses");
  cursor.checksum();
  return cursor.finish();
}

std::uint64_t extensible_array_data_block_bytes(const ExtensibleArrayHeader& header, std::uint64_t elements,
                                                bool paged) {
  const auto body = checked_mul(paged ? 0 : elements, header.element_size);
  if (!body || *body > limits::kMaxNodeBytes) return kUnlimited;
  return header.body_at + *body + 4;
}

Status decode_extensible_array_data_block(Cursor& cursor, const ExtensibleArrayHeader& header,
                                          std::uint64_t header_address, std::uint64_t elements, bool paged) {
  decode_array_block_prefix(cursor, "EADB", header.client, header_address);
  cursor.skip(header.offset_width, "block_offset");
  if (!paged) cursor.skip(static_cast<std::size_t>(elements * header.element_size), "elements");
  cursor.checksum();
  return cursor.finish();
}

}  // namespace h5mount::format
