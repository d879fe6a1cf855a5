// The metadata of a table's Parquet file: the headers of its pages and its footer.
#include "parquet_layout.h"
#include "parquet_types.h"

namespace h5mount::view {

namespace {

using namespace parquet;

// The bytes that ThriftWriter::i64 writes for a number that is not negative.
unsigned number_bytes(std::uint64_t value) {
  unsigned bytes = 1;
  for (value <<= 1; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// The sum of number_bytes over `count` numbers from `first` on, `step` apart.
std::uint64_t all_number_bytes(std::uint64_t first, std::uint64_t step, std::uint64_t count) {
  std::uint64_t bytes = 0;
  while (count > 0) {
    const unsigned each = number_bytes(first);
    const std::uint64_t end = 1ULL << (7 * each - 1);  // the end of the numbers with this many bytes
    const std::uint64_t alike = std::min(count, divide_up(end - first, step));
    bytes += alike * each;
    first += alike * step;
    count -= alike;
  }
  return bytes;
}

constexpr std::string_view kEnumKey = "enum:";

// Writes the names of the values of enumerations.
void write_key_values(ThriftWriter& out, const std::vector<ParquetColumn>& columns) {
  const auto named = [](const ParquetColumn& column) { return column.enum_names != nullptr; };
  const auto count = std::ranges::count_if(columns, named);
  if (count == 0) return;
  out.list_of_structs(5, static_cast<std::size_t>(count));
  for (const ParquetColumn& column : columns) {
    if (!named(column)) continue;
    out.begin();
    out.text(1, std::string(kEnumKey).append(column.name));
    out.text(2, *column.enum_names);
    out.end();
  }
}

}  // namespace

ParquetGroup ParquetLayout::group(std::uint64_t index) const {
  ParquetGroup out{rows_of(index), group_offset(index), {}};
  for (const ParquetColumn& column : columns_)
    out.columns.push_back(
        {dictionary_bytes(column), page_header(column, index).size() + page_bytes(column, index)});
  return out;
}

std::string ParquetLayout::page_header(const ParquetColumn& column, std::uint64_t group) const {
  return parquet_page_header(kDataPage, page_bytes(column, group), rows_of(group),
                             column.dictionary ? kRleDictionary : kPlain);
}

std::uint64_t ParquetLayout::most_schema_bytes() const {
  constexpr std::uint64_t kHead = 128, kPerColumn = 64;
  std::uint64_t bytes = kHead;
  for (const ParquetColumn& column : columns_) {
    bytes += kPerColumn + column.name.size();
    if (column.enum_names) bytes += kEnumKey.size() + column.name.size() + column.enum_names->size();
  }
  return bytes;
}

std::uint64_t ParquetLayout::most_bytes_of_group() const {
  constexpr std::uint64_t kHead = 32, kPerColumn = 96;
  std::uint64_t bytes = kHead;
  for (const ParquetColumn& column : columns_) bytes += kPerColumn + column.name.size();
  return bytes;
}

std::uint64_t ParquetLayout::most_footer_bytes() const {
  return most_schema_bytes() + groups() * most_bytes_of_group();
}

std::string ParquetLayout::dictionary_header(const ParquetColumn& column) {
  if (!column.dictionary) return {};
  return parquet_page_header(kDictionaryPage, column.dictionary->page.size(), column.dictionary->count,
                             kPlain);
}

std::uint64_t ParquetLayout::dictionary_bytes(const ParquetColumn& column) {
  return column.dictionary ? dictionary_header(column).size() + column.dictionary->page.size() : 0;
}

std::string ParquetLayout::footer() const {
  std::string out;
  out.reserve(static_cast<std::size_t>(most_footer_bytes()));
  ThriftWriter thrift(out);
  thrift.begin();
  thrift.i32(1, 1);
  write_schema(thrift, columns_);
  thrift.i64(3, static_cast<std::int64_t>(rows_));
  thrift.list_of_structs(4, static_cast<std::size_t>(groups()));
  for (std::uint64_t group = 0; group < groups(); ++group)
    write_row_group(thrift, columns_, this->group(group));
  write_key_values(thrift, columns_);
  end_parquet_footer(thrift, out);
  return out;
}

// Whole groups differ only in their offsets. The offset of a column occurs twice; that of the indices after a
// dictionary, once.
std::uint64_t ParquetLayout::footer_size() const {
  if (groups() <= 2) return footer().size();
  ParquetLayout ends = *this;  // a footer with the first and the last group
  ends.rows_ = rows_per_group_ + rows_of(groups() - 1);
  std::string first;
  ThriftWriter thrift(first);
  write_row_group(thrift, columns_, group(0));
  const std::uint64_t between = groups() - 2;
  std::uint64_t size = ends.footer().size() + between * first.size();
  size += number_bytes(rows_) - number_bytes(ends.rows_);
  constexpr std::uint64_t kShortList = 15;  // a list's length then fits its first byte
  if (groups() >= kShortList) size += divide_up(static_cast<std::uint64_t>(std::bit_width(groups())), 7);
  std::uint64_t offset = group_offset(0), last = group_offset(groups() - 1), second = group_offset(1);
  for (const ParquetColumn& column : columns_) {
    const auto add_numbers = [&](std::uint64_t from, std::uint64_t times) {
      size += times * all_number_bytes(offset + from + whole_group_, whole_group_, between);
      size -= times * between * number_bytes(offset + from);
      size += times * number_bytes(last + from) - times * number_bytes(second + from);
    };
    const std::uint64_t names = dictionary_bytes(column);
    add_numbers(0, 2);
    if (names > 0) add_numbers(names, 1);
    const std::uint64_t left = column_bytes(column, groups() - 1);
    offset += column_bytes(column, 0), last += left, second += left;
  }
  return size;
}

}  // namespace h5mount::view
