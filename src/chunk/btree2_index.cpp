// Version 2 B-tree: records of chunks sorted by scaled offsets (types 10 and 11; structured chunks 12 and
// 13).
#include <algorithm>
#include <optional>

#include "array_index.h"
#include "coordinate_runs.h"
#include "h5mount/base/row_major.h"
#include "h5mount/metadata/btree2.h"
#include "index_kinds.h"

namespace h5mount::chunk {

namespace {

constexpr std::uint8_t kFirstRecordType = 10;  // types 10 to 13 correspond to array clients 0 to 3

class BTree2Index final : public ChunkIndex {
 public:
  BTree2Index(std::shared_ptr<const metadata::BTree2> tree, const ChunkGeometry& geometry,
              format::ChunkRecordFormat format)
      : ChunkIndex(geometry), tree_(std::move(tree)), format_(format) {}

  Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const override {
    H5_ASSIGN(const auto found, tree_->find(comparison(scaled)));
    ChunkRecord out;
    if (found) decode_record(format_, found->bytes.data(), out);
    return out;
  }

  Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const override;
  void will_find(std::span<const Run> runs) const override {
    const CoordinateRuns wanted(runs, geometry().grid);
    std::vector<std::uint64_t> begin(geometry().grid.size()), end(begin);
    tree_->will_visit([&](ByteSpan after, ByteSpan before) {
      return wanted.touch(coordinates_of(after, begin), coordinates_of(before, end));
    });
  }
  Status for_each(const Visit& visit) const override;

 private:
  // Puts the coordinates of a record into `out`; null where there is no record.
  const std::uint64_t* coordinates_of(ByteSpan record, std::vector<std::uint64_t>& out) const {
    if (record.empty()) return nullptr;
    for (unsigned i = 0; i < out.size(); ++i) out[i] = format_.coordinate(record.data(), i);
    return out.data();
  }
  // Returns -1, 0 or 1 if `scaled` is before, equal to or after the record.
  int compare(const std::uint64_t* scaled, ByteSpan record) const {
    for (unsigned i = 0; i < geometry().grid.size(); ++i) {
      const std::uint64_t theirs = format_.coordinate(record.data(), i);
      if (scaled[i] != theirs) return scaled[i] < theirs ? -1 : 1;
    }
    return 0;
  }
  metadata::BTree2::Compare comparison(std::span<const std::uint64_t> scaled) const {
    return [this, scaled](ByteSpan record) -> Result<int> { return compare(scaled.data(), record); };
  }

  std::shared_ptr<const metadata::BTree2> tree_;
  format::ChunkRecordFormat format_;
};

Status BTree2Index::find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const {
  std::ranges::fill(out, ChunkRecord{});
  if (out.empty()) return {};
  const auto& grid = geometry().grid;
  std::vector<std::uint64_t> at(scaled.begin(), scaled.end());
  std::size_t i = 0;
  // Records are in the order of the grid: chunks of the run that lie between two records are absent. Records
  // outside the grid (left after the extent was reduced) are skipped.
  const auto merge = [&](ByteSpan record, std::uint64_t) -> Result<bool> {
    int order = compare(at.data(), record);
    while (order < 0) {
      if (++i == out.size() || !next_row_major(at, grid)) return false;
      order = compare(at.data(), record);
    }
    if (order > 0) return true;
    decode_record(format_, record.data(), out[i]);
    return ++i < out.size() && next_row_major(at, grid).has_value();
  };
  return tree_->for_each_from(comparison(scaled), merge);
}

// A damaged node affects only the chunks below it: all others are visited, and then the first error is
// returned.
Status BTree2Index::for_each(const Visit& visit) const {
  const auto& grid = geometry().grid;
  std::vector<std::uint64_t> scaled(grid.size());
  ChunkRecord found;
  std::optional<Error> damage;
  const auto each = [&](ByteSpan record, std::uint64_t) -> Result<bool> {
    for (unsigned d = 0; d < grid.size(); ++d) scaled[d] = format_.coordinate(record.data(), d);
    decode_record(format_, record.data(), found);
    if (!found.allocated() || !std::ranges::equal(scaled, grid, std::less<>{})) return true;
    return visit(scaled, found);
  };
  H5_TRY(tree_->for_each(each, [&](const Error& error) {
    if (!damage) damage = error;
  }));
  if (damage) return fail(*std::move(damage));
  return {};
}

}  // namespace

Result<IndexPtr> open_btree2_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                   const ChunkGeometry& geometry) {
  const auto parameters = record_parameters(*file, layout, geometry, geometry.grid.size());
  const auto sizes = format::ChunkRecordFormat::sizes_of(parameters);
  const format::BTree2Records records{
      .type = static_cast<std::uint8_t>(kFirstRecordType + static_cast<unsigned>(parameters.client)),
      .min_bytes = sizes.min,
      .max_bytes = sizes.max};
  H5_ASSIGN(auto tree, metadata::BTree2::open(std::move(file), layout.address, records));
  const auto format = format::ChunkRecordFormat::make(parameters, tree->record_size());
  if (!format)
    return fail(Error(ErrorCode::Internal, "a chunk record of a size that the header's decoder refuses"));
  return std::make_unique<BTree2Index>(std::move(tree), geometry, *format);
}

}  // namespace h5mount::chunk
