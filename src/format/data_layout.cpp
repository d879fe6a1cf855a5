// Data layout message:
//   versions 1, 2:  version (1) | dimensions (1) | class (1) | reserved (5) | [not compact: address (O)] |
//                   dimension sizes (4 each; chunked: the last is the element size) |
//                   [compact: size (4) | data]
//   versions 3 on:  version (1) | class (1) | by class:
//     0 compact     size (2) | data
//     1 contiguous  address (O) | size (L)
//     2 chunked     version 3: dimensions (1) | B-tree (O) | sizes (4 each, the last is the element size)
//                   versions 4, 5: flags (1) | dimensions (1) | width w (1) | sizes (w each) |
//                                  index type (1) | index parameters | index address (O)
//     3 virtual     heap collection (O) | index (4)
//     4 structured  version 5: data_layout_structured.cpp
//   flags: bit 0 partial edge chunks are not filtered, bit 1 the single chunk is filtered
//   index parameters, by index type:
//     1 single chunk      if filtered: stored size (L) | filter mask (4)
//     2 implicit          none
//     3 fixed array       page bits (1)
//     4 extensible array  maximum bits (1) | index block elements (1) | minimum pointers (1) |
//                         minimum elements (1) | page bits (1)
//     5 version 2 B-tree  node size (4) | split percent (1) | merge percent (1)
//
// O, L: size of offsets, of lengths.
#include "h5mount/format/data_layout.h"

#include <algorithm>

#include "data_layout_parts.h"
#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace layout_parts {

Field decode_dimensionality(Cursor& cursor) {
  const std::uint8_t stored = cursor.u8("dimensionality");
  cursor.require(stored >= 2 && stored <= limits::kMaxRank + 1, "is not 2 to 33");
  return cursor.last();
}

std::size_t decode_dimension_width(Cursor& cursor) {
  const std::uint8_t width = cursor.u8("dimension_width");
  cursor.require(width >= 1 && width <= 8, "is not 1 to 8");
  return width;
}

void decode_chunk_dims(Cursor& cursor, const Field& dimensionality, std::size_t width, DataLayout& layout) {
  const std::size_t stored = cursor.count(dimensionality, width, limits::kMaxRank + 1);
  if (!cursor.ok()) return;
  layout.chunk_dims.resize(stored - 1);
  for (std::uint64_t& dim : layout.chunk_dims) {
    dim = cursor.uint(width, "chunk_dimension");
    cursor.require(dim != 0, "is zero");
  }
  // The datatype says the same, and decides.
  layout.element_size =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(cursor.uint(width, "element_size"), UINT32_MAX));
}

std::uint8_t decode_flags_and_dims(Cursor& cursor, DataLayout& layout) {
  const std::uint8_t flags = cursor.u8("flags");
  cursor.require((flags & ~0x03U) == 0, "has unknown bits");
  layout.partial_chunks_unfiltered = (flags & 0x01) != 0;
  const Field dimensionality = decode_dimensionality(cursor);
  const std::size_t width = decode_dimension_width(cursor);
  decode_chunk_dims(cursor, dimensionality, width, layout);
  return flags;
}

void decode_index_parameters(Cursor& cursor, DataLayout& layout) {
  switch (layout.index) {
    case ChunkIndexKind::FixedArray:
      layout.fixed_array_page_bits = cursor.u8("page_bits");
      break;
    case ChunkIndexKind::ExtensibleArray:
      layout.ea_max_bits = cursor.u8("max_bits");
      layout.ea_index_elements = cursor.u8("index_elements");
      layout.ea_min_pointers = cursor.u8("min_pointers");
      layout.ea_min_elements = cursor.u8("min_elements");
      layout.ea_page_bits = cursor.u8("page_bits");
      break;
    case ChunkIndexKind::BTree2:
      layout.bt2_node_size = cursor.u32("node_size");
      cursor.skip(1, "split_percent");
      cursor.skip(1, "merge_percent");
      break;
    case ChunkIndexKind::BTree1:
    case ChunkIndexKind::Single:
    case ChunkIndexKind::Implicit:
      break;
  }
}

}  // namespace layout_parts

namespace {

void take_compact(Cursor& cursor, std::size_t size, DataLayout& layout) {
  const ByteSpan data = cursor.bytes(size, "compact_data");
  layout.compact_data.assign(data.begin(), data.end());
  layout.size = size;
  layout.has_size = true;
}

void decode_old(Cursor& cursor, DataLayout& layout) {
  const std::uint8_t stored = cursor.u8("dimensionality");
  const Field dimensionality = cursor.last();
  const std::uint8_t cls = cursor.u8("class");
  cursor.require(cls <= 2, "is unknown");
  if (!cursor.ok()) return;
  layout.cls = static_cast<LayoutClass>(cls);
  const bool chunked = layout.cls == LayoutClass::Chunked;
  cursor.require(!chunked || stored >= 2, dimensionality, "is not 2 to 33");
  cursor.require(stored <= limits::kMaxRank + 1, dimensionality, "above the greatest rank");
  cursor.skip(5, "reserved");
  if (layout.cls != LayoutClass::Compact) layout.address = cursor.address("address");
  if (chunked) return layout_parts::decode_chunk_dims(cursor, dimensionality, 4, layout);
  for (unsigned i = 0; i < stored && cursor.ok(); ++i) cursor.u32("dimension_size");
  if (layout.cls == LayoutClass::Compact) take_compact(cursor, cursor.u32("compact_size"), layout);
}

void decode_chunked_3(Cursor& cursor, DataLayout& layout) {
  const Field dimensionality = layout_parts::decode_dimensionality(cursor);
  layout.address = cursor.address("btree_address");
  layout_parts::decode_chunk_dims(cursor, dimensionality, 4, layout);
}

void decode_chunked_4(Cursor& cursor, DataLayout& layout) {
  const std::uint8_t flags = layout_parts::decode_flags_and_dims(cursor, layout);
  const std::uint8_t index = cursor.u8("index_type");
  cursor.require(index >= 1 && index <= 5, "is unknown");
  if (!cursor.ok()) return;
  layout.index = static_cast<ChunkIndexKind>(index);
  layout.single_filtered = layout.index == ChunkIndexKind::Single && (flags & 0x02) != 0;
  if (layout.single_filtered) {
    layout.single_stored_size = cursor.plain_length("single_stored_size");
    layout.single_filter_mask = cursor.u32("single_filter_mask");
  }
  layout_parts::decode_index_parameters(cursor, layout);
  layout.address = cursor.address("index_address");
}

void decode_by_class(Cursor& cursor, DataLayout& layout) {
  switch (layout.cls) {
    case LayoutClass::Compact:
      return take_compact(cursor, cursor.u16("compact_size"), layout);
    case LayoutClass::Contiguous:
      layout.address = cursor.address("address");
      layout.size = cursor.plain_length("size");
      layout.has_size = true;
      return;
    case LayoutClass::Chunked:
      if (layout.version == 3) return decode_chunked_3(cursor, layout);
      return decode_chunked_4(cursor, layout);
    case LayoutClass::Virtual:
      layout.virtual_heap_address = cursor.address("heap_address");
      layout.virtual_heap_index = cursor.u32("heap_index");
      return;
    case LayoutClass::Structured:
      return layout_parts::decode_structured(cursor, layout);
  }
}

}  // namespace

Result<DataLayout> decode_data_layout(Cursor& cursor) {
  DataLayout layout;
  layout.version = cursor.version(1, 5);
  if (!cursor.ok()) return fail(*cursor.error());
  if (layout.version < 3) {
    decode_old(cursor, layout);
    return cursor.finish(std::move(layout));
  }
  const std::uint8_t greatest = layout.version == 3 ? 2 : layout.version == 4 ? 3 : 4;
  const std::uint8_t cls = cursor.u8("class");
  cursor.require(cls <= greatest, "is unknown to this version");
  if (!cursor.ok()) return fail(*cursor.error());
  layout.cls = static_cast<LayoutClass>(cls);
  decode_by_class(cursor, layout);
  return cursor.finish(std::move(layout));
}

}  // namespace h5mount::format
