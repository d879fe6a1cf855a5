#include "h5mount/view/parquet_rows.h"

#include "parquet_dictionary.h"
#include "parquet_metadata.h"
#include "parquet_types.h"

namespace h5mount::view {

using namespace parquet;

struct ParquetRows::State {
  Take take;
  std::vector<ParquetColumn> columns;
  // For each column of the group that is being filled: one bit for each row, which says whether it has a
  // value; and the values.
  std::vector<std::string> levels, values;
  std::uint64_t rows = 0;
  std::size_t held = 0;  // bytes of `values`
  std::uint64_t all_rows = 0, offset = 0;
  std::string groups;  // their part of the footer
  std::size_t group_count = 0;

  Status put(std::string_view bytes) {
    H5_TRY(take(bytes));
    offset += bytes.size();
    return {};
  }

  Status end_group() {
    if (rows == 0) return {};
    ParquetGroup group{rows, offset, {}};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::uint64_t begin = offset;
      const std::string header = run_header(rows);
      std::string head;
      append_le(header.size() + levels[i].size(), 4, head);
      head.append(header).append(levels[i]);
      H5_TRY(put(parquet_page_header(kDataPage, head.size() + values[i].size(), rows, kPlain)));
      H5_TRY(put(head));
      H5_TRY(put(values[i]));
      group.columns.push_back({0, offset - begin});
      levels[i].clear();
      values[i] = {};
    }
    ThriftWriter thrift(groups);
    write_row_group(thrift, columns, group);
    ++group_count;
    all_rows += rows;
    rows = held = 0;
    return {};
  }
};

ParquetRows::ParquetRows(const std::vector<Column>& columns, Take take) : state_(std::make_unique<State>()) {
  state_->take = std::move(take);
  for (const Column& column : columns) {
    ParquetColumn& made = state_->columns.emplace_back();
    made.name = column.name;
    made.physical = column.kind == Kind::Text ? kByteArray : kInt64;
    if (column.kind == Kind::Text) made.converted = kUtf8;
    made.optional = true;
  }
  state_->levels.resize(columns.size());
  state_->values.resize(columns.size());
}

ParquetRows::~ParquetRows() = default;

Status ParquetRows::add(std::span<const Cell> row) {
  State& state = *state_;
  if (state.offset == 0) H5_TRY(state.put(kParquetMagic));
  const auto bit = static_cast<unsigned>(state.rows % 8);
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string &levels = state.levels[i], &values = state.values[i];
    if (bit == 0) levels += '\0';
    if (std::holds_alternative<std::monostate>(row[i])) continue;
    levels.back() = static_cast<char>(levels.back() | 1 << bit);
    const std::size_t before = values.size();
    if (const auto* text = std::get_if<std::string_view>(&row[i])) {
      append_le(text->size(), 4, values);
      values += *text;
    } else {
      append_le(static_cast<std::uint64_t>(std::get<std::int64_t>(row[i])), 8, values);
    }
    state.held += values.size() - before;
  }
  ++state.rows;
  return state.held + state.rows * row.size() >= kGroupBytes ? state.end_group() : Status{};
}

Status ParquetRows::finish() {
  State& state = *state_;
  if (state.offset == 0) H5_TRY(state.put(kParquetMagic));
  H5_TRY(state.end_group());
  std::string footer;
  ThriftWriter thrift(footer);
  thrift.begin();
  thrift.i32(1, 1);
  write_schema(thrift, state.columns);
  thrift.i64(3, static_cast<std::int64_t>(state.all_rows));
  thrift.list_of_structs(4, state.group_count);
  footer += state.groups;
  end_parquet_footer(thrift, footer);
  return state.put(footer);
}

}  // namespace h5mount::view
