// Tables as text files: comma- and tab-separated values, newline-delimited JSON.
#include "../views.h"
#include "h5mount/base/checked.h"
#include "table_file.h"

namespace h5mount::view {

namespace {

constexpr std::uint64_t kMaxFileBytes = (1ULL << 63) - 1;

template <char kDelimiter>
Result<ComputedFilePtr> make_delimited(ViewInput source, const Earlier& before, RequestBudget& budget) {
  H5_ASSIGN(Table table, table_of(source, budget));
  RowTextPtr text = delimited_rows(table, kDelimiter);
  settle_charge(table, 2 * text->header().size());
  return measure_table(std::move(source), std::move(table), std::move(text), before, budget);
}

Result<ComputedFilePtr> make_ndjson(ViewInput source, const Earlier& before, RequestBudget& budget) {
  H5_ASSIGN(Table table, table_of(source, budget));
  RowTextPtr text = json_rows(table);
  settle_charge(table, text->constant_bytes());
  const auto width = text->row_width();
  if (!width) return measure_table(std::move(source), std::move(table), std::move(text), before, budget);
  if (checked_mul(table.rows, *width).value_or(kMaxFileBytes + 1) > kMaxFileBytes)
    return fail({ErrorCode::TooLarge, "larger than a file can be"});
  return make_padded_table(std::move(source), std::move(table), std::move(text));
}

Result<KnownSize> ndjson_size(const object::DatasetDescription& dataset, RequestBudget& budget) {
  H5_ASSIGN(const Table table, table_of(dataset, budget));
  const auto width = json_row_width(table);
  if (!width) return std::nullopt;
  const auto bytes = checked_mul(table.rows, std::uint64_t{*width});
  return bytes && *bytes <= kMaxFileBytes ? bytes : std::nullopt;
}

}  // namespace

constinit const View kCsvView{
    .directory = "csv",
    .suffix = ".csv",
    .unfit = table_unfit,
    .make = make_delimited<','>,
    .of_groups = true,
    .shown_as = dataset::ShownAs::TextTable,
    .media_type = "text/csv; charset=utf-8",
    .summary =
        "tables with a header row: datasets of one or two dimensions, and groups of equally long datasets "
        "of one dimension"};

constinit const View kTsvView{.directory = "tsv",
                              .suffix = ".tsv",
                              .unfit = table_unfit,
                              .make = make_delimited<'\t'>,
                              .of_groups = true,
                              .shown_as = dataset::ShownAs::TextTable,
                              .media_type = "text/tab-separated-values; charset=utf-8",
                              .summary = "tables with a header row and tabs"};

constinit const View kNdjsonView{.directory = "ndjson",
                                 .suffix = ".ndjson",
                                 .unfit = table_unfit,
                                 .size = ndjson_size,
                                 .make = make_ndjson,
                                 .of_groups = true,
                                 .shown_as = dataset::ShownAs::TextTable,
                                 .media_type = "application/x-ndjson",
                                 .summary = "tables, a JSON object a row"};

}  // namespace h5mount::view
