// Tables as Parquet files.
#include <bit>
#include <cmath>
#include <cstring>

#include "../table/table_file.h"
#include "../views.h"
#include "parquet_dictionary.h"
#include "parquet_strings.h"

namespace h5mount::view {

namespace {
using Conversion = ParquetColumn::Conversion;
}  // namespace

std::uint64_t value_bits(const ParquetColumn& column, const std::byte* at) {
  const format::Datatype& type = *column.type;
  const Conversion conversion = column.list ? column.element : column.conversion;
  if (conversion == Conversion::HalfFloat)
    return std::bit_cast<std::uint32_t>(
        static_cast<float>(text::double_of(type, {at, type.size}).value_or(0)));
  const std::uint64_t value = text::stored_bits(type, at);
  if (conversion != Conversion::SignExtend) return value;
  const unsigned unused = 64 - 8 * type.size;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

namespace {

// Appends the column's values of some rows. Where some are missing the others come first, and zeros that are
// not read follow, so that a page's size does not depend on them.
void append_values(const ParquetColumn& column, ByteSpan rows, std::uint64_t row_bytes, std::string& out) {
  const std::size_t count = rows.size() / row_bytes, width = column.value_bytes;
  ParquetLevels levels(column, count, out);
  const std::size_t start = out.size();
  out.resize(start + count * width);
  char* to = out.data() + start;
  const std::byte* row = rows.data();
  // Bytes have no order that a reader could know of, and may be wider than a number.
  const bool as_stored = column.type == nullptr ||
                         (column.type->size == width && column.type->order == format::ByteOrder::Little);
  for (std::size_t i = 0; i < count; ++i, row += row_bytes) {
    if (column.is_masked(row)) continue;
    levels.set_present(i);
    if (as_stored) {
      std::memcpy(to, row + column.offset, width);
    } else {
      const std::uint64_t value = value_bits(column, row + column.offset);
      std::memcpy(to, &value, width);
    }
    to += width;
  }
}

// Appends booleans, eight to a byte, the first in the lowest bit; missing ones as above.
void append_bits(const ParquetColumn& column, ByteSpan rows, std::uint64_t row_bytes, std::string& out) {
  const std::size_t count = rows.size() / row_bytes;
  ParquetLevels levels(column, count, out);
  const std::size_t start = out.size();
  out.resize(start + divide_up(count, 8));
  const std::byte* row = rows.data();
  for (std::size_t i = 0, place = 0; i < count; ++i, row += row_bytes) {
    if (column.is_masked(row)) continue;
    levels.set_present(i);
    if (row[column.offset] != std::byte{})
      out[start + place / 8] = static_cast<char>(out[start + place / 8] | 1 << place % 8);
    ++place;
  }
}

class ParquetFile final : public TableFile {
 public:
  // `charge`: for the memory of the footer and of dictionaries.
  ParquetFile(ViewInput source, Table table, ParquetLayout layout, cache::BlockCache::Charge charge)
      : TableFile(std::move(source), std::move(table), std::string(kParquetMagic), layout.footer(), 0),
        layout_(std::move(layout)),
        charge_(std::move(charge)) {}

  const ParquetLayout& layout() const { return layout_; }
  std::uint64_t size() const override { return layout_.group_offset(layout_.groups()) + trailer_bytes(); }

  std::vector<dataset::ByteRange> stale_since(const ComputedFile& before,
                                              std::span<const dataset::ByteRange> stale) const override {
    const auto* other = dynamic_cast<const ParquetFile*>(&before);
    if (other == nullptr || layout_.in_boxes() || other->layout_.rows_per_group() != layout_.rows_per_group())
      return {{0, format::kUnlimited}};
    const std::uint64_t same = same_rows(*other, stale) / layout_.rows_per_group();
    return {{layout_.group_offset(same), format::kUnlimited}};
  }

 private:
  std::uint64_t part_count() const override { return layout_.groups(); }
  Part part(std::uint64_t index) const override {
    const std::uint64_t begin = layout_.group_offset(index);
    return {layout_.first_row(index), layout_.rows_of(index), begin - kParquetMagic.size(),
            layout_.group_offset(index + 1) - begin, false};
  }
  std::uint64_t part_at(std::uint64_t offset) const override {
    return layout_.group_at(offset + kParquetMagic.size());
  }

  Status render(std::uint64_t first, std::uint64_t last, std::string& out,
                RequestBudget& budget) const override {
    std::vector<std::byte> rows;
    H5_TRY(load_rows(first, last, rows, budget));
    const std::uint64_t row_bytes = table().row_bytes;
    const std::uint64_t group = layout_.group_of_row(first);
    for (const ParquetColumn& column : layout_.columns()) {
      out += layout_.dictionary_page(column, group);
      out += layout_.page_header(column, group);
      if (column.conversion == Conversion::Text)
        H5_TRY(append_parquet_strings(column, rows, row_bytes, {source().values, budget}, out));
      else if (column.conversion == Conversion::List)
        H5_TRY(append_parquet_lists(column, rows, row_bytes, budget, out));
      else if (column.conversion == Conversion::Index)
        H5_TRY(append_indices(column, layout_.first_code(column, group), rows, row_bytes, out));
      else if (column.conversion == Conversion::Bits)
        append_bits(column, rows, row_bytes, out);
      else
        append_values(column, rows, row_bytes, out);
    }
    return budget.spend(out.size());
  }

  ParquetLayout layout_;
  cache::BlockCache::Charge charge_;
};

// The columns are counted first, as most datasets with too many columns can be refused without making them.
Result<ParquetLayout> layout_of(const object::DatasetDescription& dataset, RequestBudget& budget) {
  H5_ASSIGN(const std::uint64_t columns, table_columns(dataset, budget));
  if (columns > ParquetLayout::kMaxColumns) return fail({ErrorCode::UnsupportedFeature, "too many columns"});
  H5_ASSIGN(const Table table, table_of(dataset, budget));
  return ParquetLayout::of(dataset, table, budget);
}

Result<Reason> parquet_unfit(const object::DatasetDescription& dataset, RequestBudget& budget) {
  const auto layout = layout_of(dataset, budget);
  if (layout) return std::nullopt;
  if (layout.error().code() != ErrorCode::UnsupportedFeature) return fail(layout.error());
  return layout.error().text();
}

Result<KnownSize> parquet_size(const object::DatasetDescription& dataset, RequestBudget& budget) {
  const auto unknown = [](const object::CategoriesPtr& names) { return names && !names->known; };
  if (std::ranges::any_of(dataset.categories, unknown)) return std::nullopt;
  H5_ASSIGN(const ParquetLayout layout, layout_of(dataset, budget));
  if (layout.string_columns() > 0) return std::nullopt;
  return layout.group_offset(layout.groups()) + layout.footer_size();
}

Result<ComputedFilePtr> make_parquet(ViewInput source, const Earlier& before, RequestBudget& budget) {
  const object::DatasetDescription& dataset = source.reader->description();
  H5_ASSIGN(Table table, table_of(source, budget));
  H5_ASSIGN(ParquetLayout layout, ParquetLayout::of(dataset, table, budget));
  settle_charge(table, static_cast<std::size_t>(layout.most_footer_bytes()));
  if (layout.string_columns() > 0) {
    if (auto problem = source.reader->problem()) return fail(*std::move(problem));
    const auto* known = dynamic_cast<const ParquetFile*>(before.file);
    H5_ASSIGN(layout,
              measure_parquet_strings(source, table, std::move(layout),
                                      known != nullptr ? &known->layout() : nullptr, before.stale, budget));
  }
  const std::uint64_t footer = layout.most_footer_bytes();
  H5_TRY(budget.spend(kStepsPerFooterByte * footer));
  H5_ASSIGN(auto charge, source.environment.cache->charge(
                             static_cast<std::size_t>(footer + layout.all_dictionary_bytes())));
  return std::make_shared<ParquetFile>(std::move(source), std::move(table), std::move(layout),
                                       std::move(charge));
}

}  // namespace

constinit const View kParquetView{.directory = "parquet",
                                  .suffix = ".parquet",
                                  .unfit = parquet_unfit,
                                  .size = parquet_size,
                                  .make = make_parquet,
                                  .of_groups = true,
                                  .shown_as = dataset::ShownAs::ColumnTable,
                                  .media_type = "application/vnd.apache.parquet",
                                  .summary = "tables for DuckDB, Polars, pandas"};

}  // namespace h5mount::view
