// The data layout message (specification IV.A.2.i; versions 4 and 5: specification 3.0, same section, and
// docs/format-notes.md "Data layout"), as one struct for all versions.
#pragma once

#include <cstdint>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

enum class LayoutClass : std::uint8_t {
  Compact = 0,
  Contiguous = 1,
  Chunked = 2,
  Virtual = 3,
  Structured = 4
};

enum class ChunkIndexKind : std::uint8_t {
  BTree1 = 0,  // versions 1 to 3
  Single = 1,
  Implicit = 2,
  FixedArray = 3,
  ExtensibleArray = 4,
  BTree2 = 5,
};

// Structured (sparse) chunks: fields of layout class 4 only. For its three forms see docs/format-notes.md,
// "Structured chunks".
struct StructuredLayout {
  std::uint8_t section_count = 0;
  std::uint8_t checksummed = 0;  // bit i: section i ends with a checksum
  // Single chunk index: the section fields of its record as stored (format/chunk_record_format.h). The chunk
  // size before them is DataLayout::single_stored_size.
  std::vector<std::byte> single_section_fields;
};

struct DataLayout {
  std::uint8_t version = 0;
  LayoutClass cls = LayoutClass::Contiguous;

  // Compact: the data itself, stored in the message.
  std::vector<std::byte> compact_data;

  // Contiguous: address (kUndefinedAddress: not allocated) and bytes. Versions 1 and 2 store no size:
  // has_size false. Chunked: `address` is that of the index (Single and Implicit: of the first chunk).
  std::uint64_t address = kUndefinedAddress;
  std::uint64_t size = 0;
  bool has_size = false;

  // Chunked
  ChunkIndexKind index = ChunkIndexKind::BTree1;
  std::vector<std::uint64_t> chunk_dims;   // elements per dimension, rank entries, none zero
  std::uint32_t element_size = 0;          // the extra last entry of the stored dimensions, as stated
  bool partial_chunks_unfiltered = false;  // v4 flag bit 0: edge chunks bypass the pipeline
  // Single index with filters (v4 flag bit 1)
  bool single_filtered = false;
  std::uint64_t single_stored_size = 0;
  std::uint32_t single_filter_mask = 0;
  // Index creation parameters. Informative only: readers use the copies in the index headers.
  std::uint8_t fixed_array_page_bits = 0;
  std::uint8_t ea_max_bits = 0, ea_index_elements = 0, ea_min_pointers = 0, ea_min_elements = 0,
               ea_page_bits = 0;
  std::uint32_t bt2_node_size = 0;

  // Virtual: the global heap object that holds the mappings (virtual_mapping.h).
  std::uint64_t virtual_heap_address = kUndefinedAddress;
  std::uint32_t virtual_heap_index = 0;

  // Structured
  StructuredLayout structured;
};

// `cursor` holds the whole message body.
Result<DataLayout> decode_data_layout(Cursor& cursor);

}  // namespace h5mount::format
