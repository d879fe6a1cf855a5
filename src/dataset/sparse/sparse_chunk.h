// One structured chunk of sparse storage: an encoded selection of the defined elements and their values, each
// in a section of its own (sparse storage RFC; docs/format-notes.md "Structured chunks").
//
//   chunk in the file     | section 0: encoded selection, checksum | section 1: values |
//
// The decoded chunk is one flat block that the cache can charge: the runs of defined elements, sorted by
// their place in the chunk, and the values in the order of the selection.
#pragma once

#include "h5mount/cache/block_cache.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/filter/filter.h"

namespace h5mount::dataset {

// The stored positions of the two sections, from a chunk's record (section_fields).
struct SparseSections {
  struct Section {
    std::uint64_t offset = 0;  // bytes from the chunk's address
    std::uint64_t stored = 0;  // bytes
    std::uint64_t plain = 0;   // bytes after the filters
    std::uint32_t filter_mask = 0;
  };
  Section selection, values;
};
// `filtered`: whether the dataset has a pipeline for any section. Fails if offsets decrease or leave the
// chunk, or if a size is one that no valid chunk has.
Result<SparseSections> decode_sparse_sections(const chunk::ChunkRecord& record, bool filtered,
                                              std::uint64_t chunk_bytes);

// Verifies the checksum that a section ends with, and returns what is before it.
Result<ByteSpan> without_checksum(ByteSpan section, std::uint64_t offset, std::string_view structure);

// A view of the flat block.
class SparseChunk {
 public:
  struct Run {
    std::uint64_t linear;   // element number in the dense chunk, row-major
    std::uint64_t length;   // elements
    std::uint64_t ordinal;  // ordinal of the first element's value
  };

  explicit SparseChunk(cache::BlockPtr block);
  std::span<const Run> runs() const { return runs_; }
  ByteSpan values() const { return values_; }

  // `selection` is section 0 without filters, with its checksum if it is `checksummed`; `values` is section 1
  // without any. chunk_dims: in elements, of the dataset's rank.
  static Result<std::shared_ptr<cache::Block>> make_block(ByteSpan selection, std::uint64_t offset,
                                                          ByteSpan values,
                                                          std::span<const std::uint64_t> chunk_dims,
                                                          std::uint64_t element_size,
                                                          bool checksummed = true);

 private:
  cache::BlockPtr block_;
  std::span<const Run> runs_;
  ByteSpan values_;
};

}  // namespace h5mount::dataset
