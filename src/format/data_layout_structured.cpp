// Data layout message, version 5, class 4 (structured chunks), after version and class. Files exist in three
// forms (docs/format-notes.md, "Structured chunks"):
//   prototype:   property version 0 (1) | type (2) | flags (1) | dimensions (1) | width w (1) |
//                sizes (w each) | composition | index type (1) | index parameters | index address (O)
//   version 22:  the same with the composition at the end, after the address
//   sectioned:   property version 0 (1) | type (2) | storage type 0 (1) | sections N (1) | checksums K (1) |
//                K section numbers (1 each) | offset size | flags (1) | dimensions (1) | width w (1) |
//                sizes (w each) | index type (1) | index parameters | index address (O)
//   composition: offset size | sections N (1) | checksums K (1) | K section numbers (1 each)
//   offset size: the value 8, in 1 byte or in 8
//   index parameters of a single chunk: chunk size (width by the dense chunk's bytes) |
//                section offsets (8 each, from section 1) |
//                [filtered: unfiltered sizes (8 each) | masks (4 each)]
//   flags: bit 0 partial edge chunks are not filtered, bit 1 the single chunk is filtered
//
// All known files have two sections, of which the first carries a checksum. The bytes then distinguish the
// forms: the four bytes after the type are 00 02 01 00 only in the sectioned form; otherwise the byte after
// the dimension sizes is 8 (an offset size) in the prototype's form and an index type in that of version 22.
// With another list of checksums a message is sectioned if it can only be decoded as such.
#include <algorithm>
#include <bit>

#include "data_layout_parts.h"
#include "h5mount/base/checked.h"

namespace h5mount::format::layout_parts {

namespace {

constexpr std::uint8_t kOffsetSize = 8;
constexpr std::uint8_t kSections = 2;

// The byte at distance `ahead` from the cursor; 0 beyond the end.
std::uint8_t peek(const Cursor& cursor, std::size_t ahead) {
  return ahead < cursor.remaining() ? std::to_integer<std::uint8_t>(cursor.rest()[ahead]) : std::uint8_t{0};
}

void decode_offset_size(Cursor& cursor) {
  // A size of one byte is followed by the section count (2), or by flags and a dimensionality of at least 2:
  // its next two bytes are not both zero.
  const bool wide = peek(cursor, 0) == kOffsetSize && peek(cursor, 1) == 0 && peek(cursor, 2) == 0;
  const std::uint64_t size = cursor.uint(wide ? 8 : 1, "offset_size");
  cursor.require(size == kOffsetSize, "is not 8", ErrorCode::UnsupportedFeature);
}

void decode_section_list(Cursor& cursor, DataLayout& layout) {
  StructuredLayout& structured = layout.structured;
  structured.section_count = cursor.u8("section_count");
  cursor.require(structured.section_count == kSections, "is not 2", ErrorCode::UnsupportedFeature);
  const std::uint8_t claimed = cursor.u8("checksummed_section_count");
  cursor.require(claimed <= structured.section_count, "above the sections");
  for (unsigned i = 0; i < claimed && cursor.ok(); ++i) {
    const std::uint8_t number = cursor.u8("checksummed_section");
    cursor.require(number < structured.section_count, "is no section");
    structured.checksummed |= static_cast<std::uint8_t>(number < 8 ? 1U << number : 0);
  }
}

void decode_composition(Cursor& cursor, DataLayout& layout) {
  decode_offset_size(cursor);
  decode_section_list(cursor, layout);
}

// Bytes of the field that holds a chunk's stored size.
std::size_t chunk_size_width(const DataLayout& layout) {
  std::uint64_t bytes = layout.element_size;
  for (const std::uint64_t dim : layout.chunk_dims) bytes = checked_mul(bytes, dim).value_or(UINT64_MAX);
  const unsigned log2 = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(bytes, 1))) - 1;
  return std::min<std::size_t>(8, 1 + (log2 + 8) / 8);
}

void decode_single_chunk(Cursor& cursor, bool filtered, DataLayout& layout) {
  layout.single_filtered = filtered;
  layout.single_stored_size = cursor.uint(chunk_size_width(layout), "single_stored_size");
  // If the composition follows the address, N has not been read yet; but only 2 is supported.
  const std::size_t fields = (kSections - 1) * 8 + (filtered ? kSections * (8 + 4) : 0);
  const ByteSpan stored = cursor.bytes(fields, "single_section_fields");
  layout.structured.single_section_fields.assign(stored.begin(), stored.end());
}

void decode_index(Cursor& cursor, std::uint8_t flags, DataLayout& layout) {
  const std::uint8_t index = cursor.u8("index_type");
  cursor.require(index == 1 || (index >= 3 && index <= 5), "is unknown");
  if (!cursor.ok()) return;
  layout.index = static_cast<ChunkIndexKind>(index);
  if (layout.index == ChunkIndexKind::Single)
    decode_single_chunk(cursor, (flags & 0x02) != 0, layout);
  else
    decode_index_parameters(cursor, layout);
  layout.address = cursor.address("index_address");
}

void decode_sectioned(Cursor& cursor, DataLayout& layout) {
  cursor.u8("storage_type");
  decode_section_list(cursor, layout);
  decode_offset_size(cursor);
  const std::uint8_t flags = decode_flags_and_dims(cursor, layout);
  decode_index(cursor, flags, layout);
}

// The prototype's form and that of version 22.
void decode_unsectioned(Cursor& cursor, DataLayout& layout) {
  const std::uint8_t flags = decode_flags_and_dims(cursor, layout);
  const bool composition_after_address = peek(cursor, 0) != kOffsetSize;
  if (!composition_after_address) decode_composition(cursor, layout);
  decode_index(cursor, flags, layout);
  if (composition_after_address) decode_composition(cursor, layout);
}

}  // namespace

void decode_structured(Cursor& cursor, DataLayout& layout) {
  const std::uint8_t property_version = cursor.u8("property_version");
  cursor.require(property_version == 0, "is unknown", ErrorCode::UnsupportedVersion);
  const std::uint16_t type = cursor.u16("structured_chunk_type");
  cursor.require(type <= 1, "holds variable-length data", ErrorCode::UnsupportedFeature);
  if (!cursor.ok()) return;
  const bool may_be_sectioned = peek(cursor, 0) == 0 && peek(cursor, 1) == kSections;
  if (may_be_sectioned && peek(cursor, 2) == 1 && peek(cursor, 3) == 0)
    return decode_sectioned(cursor, layout);
  if (!may_be_sectioned) return decode_unsectioned(cursor, layout);
  Cursor other = cursor;
  DataLayout sectioned = layout;
  decode_sectioned(other, sectioned);
  Cursor usual = cursor;
  DataLayout unsectioned = layout;
  decode_unsectioned(usual, unsectioned);
  const bool is_sectioned = other.ok() && !usual.ok();
  cursor = is_sectioned ? other : usual;
  layout = is_sectioned ? std::move(sectioned) : std::move(unsectioned);
}

}  // namespace h5mount::format::layout_parts
