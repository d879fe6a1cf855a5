// Indexes without an on-disk structure: no chunks, a single chunk, and implicit (contiguous) chunks.
#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/structures.h"
#include "h5mount/chunk/grid_order.h"
#include "index_kinds.h"

namespace h5mount::chunk {

namespace {

// All chunks of the grid have the same record, and there is one of them if that is allocated.
class SingleIndex final : public ChunkIndex {
 public:
  SingleIndex(const ChunkGeometry& geometry, ChunkRecord record)
      : ChunkIndex(geometry), record_(std::move(record)) {}

  Result<ChunkRecord> find(std::span<const std::uint64_t>) const override { return record_; }
  Status for_each(const Visit& visit) const override {
    if (!record_.allocated() || std::ranges::find(geometry().grid, 0U) != geometry().grid.end()) return {};
    const std::vector<std::uint64_t> origin(geometry().grid.size(), 0);
    visit(origin, record_);
    return {};
  }

 private:
  ChunkRecord record_;
};

class ImplicitIndex final : public ChunkIndex {
 public:
  ImplicitIndex(metadata::FileMetadataPtr file, const ChunkGeometry& geometry, GridOrder order,
                std::uint64_t address)
      : ChunkIndex(geometry), file_(std::move(file)), order_(std::move(order)), address_(address) {}

  Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const override {
    return record(order_.number(scaled));
  }

  Result<std::optional<std::uint64_t>> all_allocated() const override {
    if (order_.end() > 0) H5_TRY(check_within_file(record(order_.end() - 1)));
    std::uint64_t chunks = 1;  // no overflow: at most order_.end()
    for (const std::uint64_t extent : geometry().grid) chunks *= extent;
    return chunks * geometry().chunk_bytes;
  }

  Status for_each(const Visit& visit) const override {
    std::vector<std::uint64_t> scaled(order_.rank(), 0);
    if (order_.end() == 0) return {};
    do {
      const ChunkRecord found = record(order_.number(scaled));
      // The scan ends at the end of the file, not at the extent, which may be arbitrarily large.
      H5_TRY(check_within_file(found));
      if (!visit(scaled, found)) return {};
    } while (next_row_major(scaled, geometry().grid));
    return {};
  }

 private:
  Status check_within_file(const ChunkRecord& chunk) const {
    if (chunk.address < file_->source()->size()) return {};
    return fail(
        Error(ErrorCode::OutOfRange, structures::kDataLayoutMessage, "address", format::kUndefinedAddress)
            .with_found(chunk.address)
            .with_detail("a chunk of the implicit index lies beyond the end of file"));
  }

  // Does not overflow: checked by open_implicit_index.
  ChunkRecord record(std::uint64_t number) const {
    ChunkRecord out;
    out.address = address_ + number * geometry().chunk_bytes;
    out.stored_size = geometry().chunk_bytes;
    return out;
  }

  metadata::FileMetadataPtr file_;
  GridOrder order_;
  std::uint64_t address_;
};

}  // namespace

IndexPtr make_empty_index(const ChunkGeometry& geometry) {
  return std::make_unique<SingleIndex>(geometry, ChunkRecord{});
}

Result<IndexPtr> open_single_index(metadata::FileMetadataPtr, const format::DataLayout& layout,
                                   const ChunkGeometry& geometry) {
  for (const std::uint64_t chunks : geometry.grid)
    if (chunks > 1)
      return fail(Error(ErrorCode::InvalidValue, structures::kDataLayoutMessage, "chunk_index_type",
                        format::kUndefinedAddress)
                      .with_detail("a single chunk does not cover the dataset"));
  ChunkRecord record;
  record.address = layout.address;
  const bool structured = layout.cls == format::LayoutClass::Structured;
  record.stored_size =
      structured || layout.single_filtered ? layout.single_stored_size : geometry.chunk_bytes;
  record.filter_mask = layout.single_filtered && !structured ? layout.single_filter_mask : 0;
  record.section_fields = layout.structured.single_section_fields;
  return std::make_unique<SingleIndex>(geometry, std::move(record));
}

Result<IndexPtr> open_implicit_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                     const ChunkGeometry& geometry) {
  H5_ASSIGN(GridOrder order, GridOrder::make(geometry, false));
  const auto length = checked_mul(order.end(), geometry.chunk_bytes);
  if (!length || !checked_add(layout.address, *length))
    return fail(
        Error(ErrorCode::OutOfRange, structures::kDataLayoutMessage, "address", format::kUndefinedAddress)
            .with_found(layout.address)
            .with_detail("the chunks would reach beyond 64 bits"));
  return std::make_unique<ImplicitIndex>(std::move(file), geometry, std::move(order), layout.address);
}

}  // namespace h5mount::chunk
