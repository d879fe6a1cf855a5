// What fixed and extensible arrays have in common: chunks are numbered, elements lie in runs (a page, a data
// block, the index block's own elements), and a run is read whole, once, for all lookups that fall into it.
#pragma once

#include <memory>

#include "grid_order.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/format/fixed_array.h"
#include "node_cache.h"

namespace h5mount::chunk {

// Elements [first, first + count) of the array.
struct ElementRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::shared_ptr<const metadata::MetadataBlock> block;  // null: none of these chunks was ever written
  std::size_t elements_at = 0;                           // offset of the first element in the block

  bool contains(std::uint64_t number) const { return number - first < count; }
  const std::byte* element(std::uint64_t number, std::size_t element_bytes) const {
    return block->bytes().data() + elements_at + static_cast<std::size_t>(number - first) * element_bytes;
  }
};

class ArrayIndex : public ChunkIndex {
 public:
  Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const final;
  Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const final;
  // In the order of element numbers. A damaged page hides its own elements only: all others are visited, and
  // then the first error is returned.
  Status for_each(const Visit& visit) const final;

 protected:
  ArrayIndex(metadata::FileMetadataPtr file, const ChunkGeometry& geometry, GridOrder order,
             format::ChunkRecordFormat format)
      : ChunkIndex(geometry), file_(std::move(file)), order_(std::move(order)), format_(format) {}

  // The run that holds `number`, which is below order().end(). Absent runs should be as long as is known
  // without reading more, so that for_each passes over them at once. `span` is set even when loading fails:
  // the elements that the failure hides, so that a scan can go on behind them.
  virtual Result<ElementRun> load_run(std::uint64_t number, ElementRun& span) const = 0;

  // `bytes` at `address` through the cache; `check` (ByteSpan -> Status by a Cursor) runs once, before it is
  // kept.
  template <class Check>
  Result<std::shared_ptr<const metadata::MetadataBlock>> load_block(std::uint64_t address,
                                                                    std::uint64_t bytes,
                                                                    std::string_view structure,
                                                                    Check&& check) const {
    if (auto kept = cache_.find(address)) return kept;
    H5_TRY(check_size(address, bytes, structure));
    H5_ASSIGN(metadata::MetadataBlock block, file_->read(address, bytes, structure));
    format::Cursor cursor = block.cursor(structure);
    H5_TRY(check(cursor));
    auto shared = std::make_shared<const metadata::MetadataBlock>(std::move(block));
    cache_.insert(address, shared, static_cast<std::size_t>(bytes) + sizeof(metadata::MetadataBlock));
    return shared;
  }

  // A page of elements at `address`, its checksum verified.
  Result<std::shared_ptr<const metadata::MetadataBlock>> load_page(std::uint64_t address,
                                                                   std::uint64_t entries,
                                                                   std::string_view structure) const;

  const metadata::FileMetadata& file() const { return *file_; }
  const GridOrder& order() const { return order_; }
  const format::ChunkRecordFormat& format() const { return format_; }

 private:
  Status check_size(std::uint64_t address, std::uint64_t bytes, std::string_view structure) const;
  void fill_record(const ElementRun& run, std::uint64_t number, ChunkRecord& out) const;

  metadata::FileMetadataPtr file_;
  GridOrder order_;
  format::ChunkRecordFormat format_;
  mutable NodeCache<metadata::MetadataBlock> cache_;
};

// What a dataset calls for: the records of its chunks, `coordinates` scaled offsets in each; as elements of
// an array.
format::ChunkRecordFormat::Parameters record_parameters(const metadata::FileMetadata& file,
                                                        const format::DataLayout& layout,
                                                        const ChunkGeometry& geometry,
                                                        std::size_t coordinates);
format::ArrayOfChunks array_of_chunks(const metadata::FileMetadata& file, const format::DataLayout& layout,
                                      const ChunkGeometry& geometry, const GridOrder& order);

}  // namespace h5mount::chunk
