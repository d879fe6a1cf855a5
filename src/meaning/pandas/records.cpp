#include "records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/dataset/readers_over.h"

namespace h5mount::meaning {

namespace {

// `masks`: behind the values, for each column that may miss a value a byte that is 1 where it does.
struct RecordLayout {
  std::vector<RecordColumn> columns;
  std::uint64_t row_bytes = 0;
  bool side_by_side = true, no_rows = false;
};

class RecordsReader final : public dataset::UnitsReader {
 public:
  RecordsReader(object::DatasetDescription shown, dataset::DatasetReaderPtr base,
                std::shared_ptr<const RecordLayout> layout)
      : UnitsReader(shown, std::move(base), layout->row_bytes, shown.element_size),
        shown_row_(static_cast<std::size_t>(shown.element_size)),
        layout_(std::move(layout)) {}

 private:
  Status make(ByteSpan stored, MutableByteSpan shown) const override {
    const auto row = static_cast<std::size_t>(layout_->row_bytes);
    const std::size_t rows = stored.size() / row;
    std::size_t at = 0, mask = shown_row_;
    if (layout_->side_by_side)
      mask -= static_cast<std::size_t>(std::ranges::count_if(layout_->columns, &RecordColumn::may_miss));
    for (const RecordColumn& column : layout_->columns) {
      const std::byte* const from = stored.data() + column.offset;
      const bool has_mask = column.may_miss && layout_->side_by_side;
      if (column.elements)
        decode(column, from, rows, shown.data() + at, has_mask ? shown.data() + mask : nullptr);
      else
        for (std::size_t i = 0; i < rows; ++i)
          std::memcpy(shown.data() + i * shown_row_ + at, from + i * row, column.type->size);
      at += column.type->size;
      mask += has_mask ? 1 : 0;
    }
    return {};
  }

  // Some at a time: what is decoded lies side by side.
  void decode(const RecordColumn& column, const std::byte* from, std::size_t rows, std::byte* to,
              std::byte* mask) const {
    constexpr std::size_t kAtOnceBytes = 16U << 10;
    const auto row = static_cast<std::size_t>(layout_->row_bytes);
    const auto in = static_cast<std::size_t>(column.stored_bytes);
    const std::size_t out = column.type->size;
    const std::size_t at_once = std::clamp<std::size_t>(kAtOnceBytes / std::max(in, out), 1, rows);
    std::vector<std::byte> stored(at_once * in), shown(at_once * out), missing(at_once);
    for (std::size_t first = 0; first < rows; first += at_once) {
      const std::size_t count = std::min(at_once, rows - first);
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(stored.data() + i * in, from + (first + i) * row, in);
      column.elements->decode(ByteSpan(stored).first(count * in), MutableByteSpan(shown).first(count * out),
                              missing.data());
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(to + (first + i) * shown_row_, shown.data() + i * out, out);
        if (mask != nullptr) mask[(first + i) * shown_row_] = missing[i];
      }
    }
  }

  const std::size_t shown_row_;
  const std::shared_ptr<const RecordLayout> layout_;
};

class RecordsDerivation final : public dataset::Derivation {
 public:
  explicit RecordsDerivation(RecordLayout layout)
      : layout_(std::make_shared<const RecordLayout>(std::move(layout))), type_(row_type()) {}

  Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const override {
    const auto& dims = dataset.space.dims;
    const std::uint64_t cells = dims.size() == 2 && !layout_->no_rows ? dims[1] : 1;
    const auto row = checked_mul(dataset.element_size, cells);
    if (dims.empty() || dims.size() > 2 || (row != layout_->row_bytes && !layout_->no_rows))
      return fail({ErrorCode::Stale, "a dataset of another type than its attributes are of"});
    if (!type_ || type_->size == 0 || layout_->row_bytes > limits::kMaxTableRowBytes)
      return fail({ErrorCode::UnsupportedFeature, "rows without columns, or too large"});
    H5_ASSIGN(object::DatasetDescription out, described_as(dataset, type_, cells));
    out.space.dims.resize(1);
    out.space.max_dims.resize(std::min<std::size_t>(out.space.max_dims.size(), 1));
    out.side_by_side = layout_->side_by_side;
    if (layout_->side_by_side) out.masks = masks();
    if (layout_->no_rows) {
      out.space.dims = {0};
      out.space.max_dims = {};
      out.image_bytes = 0;
    }
    return out;
  }

  Result<dataset::DatasetReaderPtr> open(dataset::DatasetReaderPtr dataset) const override {
    H5_ASSIGN(object::DatasetDescription shown, describe(dataset->description()));
    return std::make_shared<const RecordsReader>(std::move(shown), std::move(dataset), layout_);
  }

  std::vector<dataset::ByteRange> stale_since(const dataset::DatasetReader& part,
                                              const dataset::DatasetReader& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* const now = dynamic_cast<const RecordsReader*>(&part);
    const bool same_rows = part.description().element_size == before.description().element_size;
    return now != nullptr && same_rows ? now->stale(stale) : std::vector{dataset::kWholeImage};
  }

 private:
  // Null if rows would be too large.
  format::DatatypePtr row_type() const {
    const std::vector<RecordColumn>& columns = layout_->columns;
    if (!layout_->side_by_side) return columns.front().type;
    auto row = std::make_shared<format::Datatype>();
    row->cls = format::DatatypeClass::Compound;
    std::uint64_t at = 0;
    for (const RecordColumn& column : columns) {
      row->members.push_back({column.name, static_cast<std::uint32_t>(at), column.type});
      row->has_variable_part = row->has_variable_part || column.type->has_variable_part;
      row->has_reference = row->has_reference || column.type->has_reference;
      at += column.type->size;
      if (at > limits::kMaxTableRowBytes) return nullptr;
    }
    const format::DatatypePtr mask = dataset::integer_type(1, false, format::ByteOrder::Little);
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].may_miss)
        row->members.push_back({fmt::format("mask {}", i), static_cast<std::uint32_t>(at++), mask});
    row->size = static_cast<std::uint32_t>(at);
    return row;
  }

  std::vector<std::optional<std::size_t>> masks() const {
    std::vector<std::optional<std::size_t>> out;
    std::size_t next = layout_->columns.size();
    for (const RecordColumn& column : layout_->columns)
      out.push_back(column.may_miss ? std::optional(next++) : std::nullopt);
    return out;
  }

  const std::shared_ptr<const RecordLayout> layout_;
  const format::DatatypePtr type_;
};

}  // namespace

dataset::DerivationPtr derive_records(std::vector<RecordColumn> columns, std::uint64_t row_bytes,
                                      bool no_rows) {
  return std::make_shared<const RecordsDerivation>(
      RecordLayout{std::move(columns), row_bytes, true, no_rows});
}

dataset::DerivationPtr derive_column(RecordColumn column, std::uint64_t row_bytes, bool no_rows) {
  std::vector<RecordColumn> columns;
  columns.push_back(std::move(column));
  return std::make_shared<const RecordsDerivation>(
      RecordLayout{std::move(columns), row_bytes, false, no_rows});
}

}  // namespace h5mount::meaning
