// Fractal heaps on disk (specification III.G): header, doubling table, blocks, heap ids.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "h5mount/format/btree2_node.h"
#include "h5mount/format/cursor.h"
#include "h5mount/format/filter_pipeline.h"

namespace h5mount::format {

// How the entries of an indirect block divide heap space: `width` blocks per row; rows 0 and 1 hold blocks of
// start_block_size, each later row blocks of twice the size of the row before. Rows from max_direct_rows on
// hold indirect blocks.
struct DoublingTable {
  std::uint32_t width = 0;  // width and sizes are powers of two
  std::uint64_t start_block_size = 0;
  std::uint64_t max_direct_block_size = 0;
  std::uint16_t max_heap_bits = 0;  // heap space has 2^max_heap_bits bytes
  // Derived:
  unsigned first_row_bits = 0;   // log2 of the first row's bytes
  unsigned max_direct_rows = 0;  // rows of direct blocks in any indirect block
  unsigned max_rows = 0;         // rows of any indirect block

  std::uint64_t block_size(unsigned row) const {
    return row < 2 ? start_block_size : start_block_size << (row - 1);
  }
  // Offset of a row in heap space, relative to the indirect block's own offset.
  std::uint64_t row_offset(unsigned row) const {
    return row == 0 ? 0 : start_block_size * width << (row - 1);
  }
  // Rows of an indirect block that covers `bytes` of heap space (a power of two); 0: no such block.
  unsigned rows_of(std::uint64_t bytes) const;

  struct Entry {
    unsigned row = 0;
    std::uint64_t index = 0;   // among all entries, row by row
    std::uint64_t offset = 0;  // of its block, relative as row_offset
  };
  Entry entry_at(std::uint64_t offset) const;
};

struct FractalHeapHeader {
  std::uint64_t address = 0;  // its own
  std::uint16_t heap_id_length = 0;
  bool checksummed_direct_blocks = false;
  std::uint32_t max_managed_size = 0;
  std::uint64_t huge_btree_address = kUndefinedAddress;
  std::uint64_t free_space_manager_address = kUndefinedAddress;
  DoublingTable table;
  std::uint64_t root_address = kUndefinedAddress;  // undefined: no managed objects
  std::uint16_t root_rows = 0;                     // 0: the root is a direct block
  std::optional<FilterPipelineMessage> filters;
  std::uint64_t filtered_root_size = 0;  // stored bytes of the root if it is a direct block and filtered
  std::uint32_t root_filter_mask = 0;
  // Derived:
  std::uint8_t offset_width = 0;  // bytes of a heap offset, in ids and blocks
  std::uint8_t length_width = 0;  // bytes of a managed object's length in ids

  std::uint64_t direct_block_overhead(FileSizes sizes) const;
  std::uint64_t indirect_block_bytes(FileSizes sizes, unsigned rows) const;
};

// The size of the header up to and including "I/O filters' encoded length"; and, given that length, the size
// of the whole header.
inline constexpr std::uint64_t kFractalHeapHeaderStart = 4 + 1 + 2 + 2;
Result<std::uint16_t> decode_fractal_heap_filter_length(Cursor& cursor);
std::uint64_t fractal_heap_header_bytes(FileSizes sizes, std::uint16_t filter_length);
// `id_length`: the length of ids that the heap's user requires, if it supports only one.
Result<FractalHeapHeader> decode_fractal_heap_header(Cursor& cursor, std::uint64_t address,
                                                     std::optional<std::uint16_t> id_length);

// Checks a direct block's prefix and, if the heap has checksums, its checksum. `cursor` holds the unfiltered
// block. Offsets of objects count from the block's first byte, prefix included.
Status check_direct_block(Cursor& cursor, const FractalHeapHeader& header, std::uint64_t block_offset);

// Checks an indirect block's prefix and checksum.
Status check_indirect_block(Cursor& cursor, const FractalHeapHeader& header, std::uint64_t block_offset,
                            unsigned rows);

struct HeapBlockEntry {
  std::uint64_t address = kUndefinedAddress;  // undefined: not allocated
  std::uint64_t filtered_size = 0;            // stored bytes of a direct block if the heap has filters
  std::uint32_t filter_mask = 0;
};
// Decodes one entry. Precondition: the block has passed check_indirect_block.
Result<HeapBlockEntry> decode_indirect_entry(Cursor& cursor, const FractalHeapHeader& header,
                                             const DoublingTable::Entry& entry);

struct ManagedHeapId {
  std::uint64_t offset = 0;  // in heap space
  std::uint64_t length = 0;
};
struct HugeHeapObject {
  std::uint64_t address = kUndefinedAddress;
  std::uint64_t stored_size = 0;
  std::uint32_t filter_mask = 0;
  std::uint64_t size = 0;  // bytes after the filters are undone
};
struct HugeHeapKey {
  std::uint64_t key = 0;  // in the version 2 B-tree of huge objects
};
struct TinyHeapObject {
  ByteSpan bytes;  // a part of the id's bytes
};
using HeapId = std::variant<ManagedHeapId, HugeHeapObject, HugeHeapKey, TinyHeapObject>;

// `cursor` holds the id; bytes after the heap's id length are ignored.
Result<HeapId> decode_heap_id(Cursor& cursor, const FractalHeapHeader& header);

// The records of the B-tree of huge objects: type 1, or type 2 if the heap has filters.
BTree2Records huge_records(FileSizes sizes, bool filtered);

struct HugeHeapRecord {
  HugeHeapObject object;
  std::uint64_t key = 0;
};
Result<HugeHeapRecord> decode_huge_record(Cursor& cursor, bool filtered);

}  // namespace h5mount::format
