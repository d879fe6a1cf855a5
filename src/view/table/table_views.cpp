#include "table_views.h"

#include "h5mount/base/checked.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kMaxFileBytes = (1ULL << 63) - 1;

Result<ComputedFilePtr> make_delimited(Source source, char delimiter, const ComputedFile* before,
                                       std::span<const dataset::ByteRange> stale, RequestBudget& budget) {
  H5_ASSIGN(Table table, table_of(source, budget));
  RowTextPtr text = delimited_rows(table, delimiter);
  settle_charge(table, 2 * text->header().size());
  return measure_table(std::move(source), std::move(table), std::move(text), before, stale, budget);
}

}  // namespace

Result<ComputedFilePtr> make_csv(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale, RequestBudget& budget) {
  return make_delimited(std::move(source), ',', before, stale, budget);
}

Result<ComputedFilePtr> make_tsv(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale, RequestBudget& budget) {
  return make_delimited(std::move(source), '\t', before, stale, budget);
}

Result<ComputedFilePtr> make_ndjson(Source source, const ComputedFile* before,
                                    std::span<const dataset::ByteRange> stale, RequestBudget& budget) {
  H5_ASSIGN(Table table, table_of(source, budget));
  RowTextPtr text = json_rows(table);
  settle_charge(table, text->constant_bytes());
  const auto width = text->row_width();
  if (!width)
    return measure_table(std::move(source), std::move(table), std::move(text), before, stale, budget);
  if (checked_mul(table.rows, *width).value_or(kMaxFileBytes + 1) > kMaxFileBytes)
    return fail({ErrorCode::TooLarge, "larger than a file can be"});
  return make_padded_table(std::move(source), std::move(table), std::move(text));
}

Result<std::optional<std::uint64_t>> measured_size(const object::DatasetDescription&, RequestBudget&) {
  return std::nullopt;
}

Result<std::optional<std::uint64_t>> ndjson_size(const object::DatasetDescription& dataset,
                                                 RequestBudget& budget) {
  H5_ASSIGN(const Table table, table_of(dataset, budget));
  const auto width = json_row_width(table);
  if (!width) return std::nullopt;
  const auto bytes = checked_mul(table.rows, std::uint64_t{*width});
  return bytes && *bytes <= kMaxFileBytes ? bytes : std::nullopt;
}

}  // namespace h5mount::view
