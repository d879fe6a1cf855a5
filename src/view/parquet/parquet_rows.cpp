#include "h5mount/view/parquet_rows.h"

#include <unordered_map>

#include "h5mount/view/view.h"
#include "parquet_dictionary.h"
#include "parquet_metadata.h"
#include "parquet_types.h"

namespace h5mount::view {

using namespace parquet;

namespace {

// A column of the group that is being filled.
struct FilledColumn {
  std::string levels;  // one bit for each row, which says whether it has a value
  std::string values;  // of names their numbers
  bool named = false;
  std::unordered_map<std::string, std::uint32_t> numbers = {};  // of names
  std::string names = {};                                       // a dictionary page
  static constexpr std::size_t kNumberBytes = 4, kNameOverhead = 64;

  // Adds a name; returns the bytes that it takes.
  std::size_t add_name(std::string_view name) {
    const std::size_t before = names.size();
    const auto [at, first] = numbers.try_emplace(std::string(name), numbers.size());
    if (first) {
      append_le(name.size(), kNumberBytes, names);
      names += name;
    }
    append_le(at->second, kNumberBytes, values);
    return kNumberBytes + (first ? 2 * (names.size() - before) + kNameOverhead : 0);
  }

  // The numbers as a page has them for so many rows (parquet_dictionary.h).
  std::string packed_numbers(std::uint64_t rows) const {
    const std::uint32_t bytes = index_bytes(numbers.size());
    std::string out(1, static_cast<char>(8 * bytes));
    out += run_header(rows);
    const std::size_t end = out.size() + 8 * bytes * levels.size();
    for (std::size_t i = 0; i < values.size(); i += kNumberBytes) out.append(values, i, bytes);
    out.resize(end);
    return out;
  }

  void clear() {
    levels.clear();
    values = {};
    numbers.clear();
    names = {};
  }
};

}  // namespace

struct ParquetRows::State {
  Take take;
  std::vector<ParquetColumn> columns;
  std::vector<FilledColumn> filled;  // for each of them
  std::uint64_t rows = 0;
  std::size_t held = 0;  // bytes of values and names
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
    for (FilledColumn& column : filled) {
      const std::uint64_t begin = offset;
      if (!column.numbers.empty()) {
        H5_TRY(put(parquet_page_header(kDictionaryPage, column.names.size(), column.numbers.size(), kPlain)));
        H5_TRY(put(column.names));
      }
      const std::uint64_t names = offset - begin;
      if (names > 0) column.values = column.packed_numbers(rows);
      const std::string header = run_header(rows);
      std::string head;
      append_le(header.size() + column.levels.size(), 4, head);
      head.append(header).append(column.levels);
      H5_TRY(put(parquet_page_header(kDataPage, head.size() + column.values.size(), rows,
                                     names > 0 ? kRleDictionary : kPlain)));
      H5_TRY(put(head));
      H5_TRY(put(column.values));
      group.columns.push_back({names, offset - begin - names});
      column.clear();
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
    made.physical = column.kind == Kind::Number ? kInt64 : kByteArray;
    if (column.kind == Kind::Text || column.kind == Kind::Name) made.converted = kUtf8;
    made.optional = true;
    state_->filled.push_back({.levels = {}, .values = {}, .named = column.kind == Kind::Name});
  }
}

ParquetRows::~ParquetRows() = default;

Status ParquetRows::add(std::span<const Cell> row) {
  State& state = *state_;
  if (state.offset == 0) H5_TRY(state.put(kParquetMagic));
  const auto bit = static_cast<unsigned>(state.rows % 8);
  for (std::size_t i = 0; i < row.size(); ++i) {
    FilledColumn& column = state.filled[i];
    if (bit == 0) column.levels += '\0';
    if (std::holds_alternative<std::monostate>(row[i])) continue;
    column.levels.back() = static_cast<char>(column.levels.back() | 1 << bit);
    const auto* const text = std::get_if<std::string_view>(&row[i]);
    if (text != nullptr && column.named) {
      state.held += column.add_name(*text);
      continue;
    }
    const std::size_t before = column.values.size();
    if (text != nullptr) {
      append_le(text->size(), 4, column.values);
      column.values += *text;
    } else {
      append_le(static_cast<std::uint64_t>(std::get<std::int64_t>(row[i])), 8, column.values);
    }
    state.held += column.values.size() - before;
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
  end_parquet_footer(thrift, 0, footer);
  return state.put(footer);
}

}  // namespace h5mount::view
