// ArrayIndex: the common part of fixed and extensible arrays. Chunks are numbered; elements are stored in
// runs (a page, a data block, the index block's own elements); a run is read completely and once for all
// lookups in it.
#pragma once

#include <memory>
#include <unordered_set>

#include "h5mount/chunk/chunk_index.h"
#include "h5mount/chunk/grid_order.h"
#include "h5mount/format/fixed_array.h"
#include "node_cache.h"

namespace h5mount::chunk {

// Elements [first, first + count) of the array.
struct ElementRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::shared_ptr<const metadata::MetadataBlock> block;  // null: none of these chunks is allocated
  std::size_t elements_at = 0;                           // offset of the first element in the block

  bool contains(std::uint64_t number) const { return number - first < count; }
  const std::byte* element(std::uint64_t number, std::size_t element_bytes) const {
    return block->bytes().data() + elements_at + static_cast<std::size_t>(number - first) * element_bytes;
  }
};

// The blocks that a lookup would read of a far source: `load_block` notes them in place of reading. What
// other structures are named by is read once it was asked for.
struct Asking {
  enum class Names : std::uint8_t { Nothing, Others };
  std::vector<ByteRange> missing = {};           // not asked for yet
  std::unordered_set<std::uint64_t> noted = {};  // their addresses
  std::unordered_set<std::uint64_t> asked = {};  // of what was
};

class ArrayIndex : public ChunkIndex {
 public:
  Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const final;
  Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const final;
  void will_find(std::span<const Run> runs) const final;
  // In the order of element numbers. A damaged page affects only its own elements: all others are visited,
  // and then the first error is returned.
  Status for_each(const Visit& visit) const final;

 protected:
  ArrayIndex(metadata::FileMetadataPtr file, const ChunkGeometry& geometry, GridOrder order,
             format::ChunkRecordFormat format)
      : ChunkIndex(geometry), file_(std::move(file)), order_(std::move(order)), format_(format) {}

  // The run that holds `number`. Precondition: number < order().end(). A run without chunks should be as long
  // as can be told without further reads, so that for_each skips it in one step. `span` is set to the
  // affected elements even if loading fails, so that a scan can continue after them. `asking`: null for a
  // lookup.
  virtual Result<ElementRun> load_run(std::uint64_t number, ElementRun& span, Asking* asking) const = 0;

  // Loads `bytes` at `address` through the cache. `check` (a Status from a Cursor) runs once, before the
  // block is cached. While asking, what is missing is noted and is an error; but what names others is loaded
  // where it was asked for.
  template <class Check>
  Result<std::shared_ptr<const metadata::MetadataBlock>> load_block(std::uint64_t address,
                                                                    std::uint64_t bytes,
                                                                    std::string_view structure,
                                                                    Asking* asking, Asking::Names names,
                                                                    Check&& check) const {
    if (auto kept = cache_.find(address)) return kept;
    if (asking != nullptr) H5_TRY(ask(*asking, address, bytes, names));
    H5_TRY(check_size(address, bytes, structure));
    H5_ASSIGN(metadata::MetadataBlock block, file_->read(address, bytes, structure));
    format::Cursor cursor = block.cursor(structure);
    H5_TRY(check(cursor));
    auto shared = std::make_shared<const metadata::MetadataBlock>(std::move(block));
    cache_.insert(address, shared, static_cast<std::size_t>(bytes) + sizeof(metadata::MetadataBlock));
    return shared;
  }

  // Loads a page of elements at `address` and verifies its checksum.
  Result<std::shared_ptr<const metadata::MetadataBlock>> load_page(std::uint64_t address,
                                                                   std::uint64_t entries,
                                                                   std::string_view structure,
                                                                   Asking* asking) const;

  const metadata::FileMetadata& file() const { return *file_; }
  const GridOrder& order() const { return order_; }
  const format::ChunkRecordFormat& format() const { return format_; }

 private:
  Status check_size(std::uint64_t address, std::uint64_t bytes, std::string_view structure) const;
  static Status ask(Asking& asking, std::uint64_t address, std::uint64_t bytes, Asking::Names names);
  void ask_for(std::span<const Run> runs, Asking& asking) const;
  bool announce(Asking& asking) const;  // false: there was nothing to ask for
  std::uint64_t ask_from(std::uint64_t number) const;
  void fill_record(const ElementRun& run, std::uint64_t number, ChunkRecord& out) const;

  metadata::FileMetadataPtr file_;
  GridOrder order_;
  format::ChunkRecordFormat format_;
  mutable NodeCache<metadata::MetadataBlock> cache_;
};

// Decodes a record into `out`.
void decode_record(const format::ChunkRecordFormat& format, const std::byte* record, ChunkRecord& out);

// The parameters of the records that a dataset's chunks need, with `coordinates` scaled offsets in each; and
// the same for elements of an array.
format::ChunkRecordFormat::Parameters record_parameters(const metadata::FileMetadata& file,
                                                        const format::DataLayout& layout,
                                                        const ChunkGeometry& geometry,
                                                        std::size_t coordinates);
format::ArrayOfChunks array_of_chunks(const metadata::FileMetadata& file, const format::DataLayout& layout,
                                      const ChunkGeometry& geometry, const GridOrder& order);

}  // namespace h5mount::chunk
