// The metadata of a table's Parquet file: the headers of its pages and its footer.
#include <cmath>
#include <cstring>

#include "h5mount/base/bytes.h"
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

const std::byte* bytes_of(std::string_view value) {
  return reinterpret_cast<const std::byte*>(value.data());
}

template <class Number>
Number number(std::string_view value) {
  Number out;
  std::memcpy(&out, value.data(), sizeof out);
  return out;
}
template <class Number>
bool is_nan(std::string_view value) {
  return std::isnan(number<Number>(value));
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
  for (const ParquetColumn& column : columns_) {
    out.columns.push_back(
        {dictionary_bytes(column, index), page_header(column, index).size() + page_bytes(column, index)});
    if (column.list) out.columns.back().values = page_values(column, index);
    if (column.axis) add_statistics(column, index, out.columns.back());
  }
  return out;
}

std::string ParquetLayout::page_header(const ParquetColumn& column, std::uint64_t group) const {
  return parquet_page_header(kDataPage, page_bytes(column, group), page_values(column, group),
                             column.dictionary ? kRleDictionary : kPlain);
}

std::uint64_t ParquetLayout::most_schema_bytes() const {
  constexpr std::uint64_t kHead = 128, kPerColumn = 128;
  std::uint64_t bytes = kHead;
  for (const ParquetColumn& column : columns_) {
    bytes += kPerColumn + column.name.size();
    if (column.enum_names) bytes += kEnumKey.size() + column.name.size() + column.enum_names->size();
  }
  return bytes;
}

std::uint64_t ParquetLayout::most_bytes_of_group() const {
  constexpr std::uint64_t kHead = 32, kPerColumn = 128;
  std::uint64_t bytes = kHead;
  for (const ParquetColumn& column : columns_) bytes += kPerColumn + column.name.size();
  return bytes;
}

std::uint64_t ParquetLayout::most_footer_bytes() const {
  return most_schema_bytes() + groups() * most_bytes_of_group();
}

ParquetLayout::Names ParquetLayout::names_of(const ParquetColumn& column, std::uint64_t group) const {
  const ParquetDictionary& all = *column.dictionary;
  if (all.value_bytes == 0) return {0, all.count, all.page.size()};
  const object::GridRows::Box box = boxes_->box(group);
  const std::uint64_t first = std::min<std::uint64_t>(box.start[*column.axis], all.count);
  const std::uint64_t count = std::min(box.count[*column.axis], all.count - first);
  return {first, count, count * all.value_bytes};
}

std::uint64_t ParquetLayout::first_code(const ParquetColumn& column, std::uint64_t group) const {
  return column.dictionary ? names_of(column, group).first : 0;
}

std::string ParquetLayout::dictionary_header(const ParquetColumn& column, std::uint64_t group) const {
  if (!column.dictionary) return {};
  const Names names = names_of(column, group);
  return parquet_page_header(kDictionaryPage, names.bytes, names.count, kPlain);
}

std::string ParquetLayout::dictionary_page(const ParquetColumn& column, std::uint64_t group) const {
  std::string out = dictionary_header(column, group);
  if (out.empty()) return out;
  const Names names = names_of(column, group);
  return out.append(column.dictionary->page,
                    static_cast<std::size_t>(names.first * column.dictionary->value_bytes),
                    static_cast<std::size_t>(names.bytes));
}

std::uint64_t ParquetLayout::dictionary_bytes(const ParquetColumn& column, std::uint64_t group) const {
  return column.dictionary ? dictionary_header(column, group).size() + names_of(column, group).bytes : 0;
}

// The least and the greatest of the values in a page, unless one of them is no number.
void ParquetLayout::add_statistics(const ParquetColumn& column, std::uint64_t group,
                                   ParquetGroup::Column& out) const {
  if (!column.dictionary) {  // counted from 0
    const object::GridRows::Box box = boxes_->box(group);
    append_le(box.start[*column.axis], sizeof(std::int64_t), out.least);
    append_le(box.start[*column.axis] + box.count[*column.axis] - 1, sizeof(std::int64_t), out.most);
    return;
  }
  const std::size_t bytes = column.dictionary->value_bytes;
  const Names names = names_of(column, group);
  if (bytes == 0 || names.count == 0) return;
  const bool is_unsigned = column.converted && *column.converted >= kUint8 && *column.converted < kInt8;
  std::string_view least, most;
  for (std::uint64_t i = 0; i < names.count; ++i) {
    const std::string_view value =
        std::string_view(column.dictionary->page).substr((names.first + i) * bytes, bytes);
    if (column.physical == kDouble && is_nan<double>(value)) return;
    if (column.physical == kFloat && is_nan<float>(value)) return;
    const auto less = [&](std::string_view a, std::string_view b) {
      return column.physical == kDouble  ? number<double>(a) < number<double>(b)
             : column.physical == kFloat ? number<float>(a) < number<float>(b)
             : is_unsigned ? load_le_width(bytes_of(a), bytes) < load_le_width(bytes_of(b), bytes)
             : bytes == 4  ? number<std::int32_t>(a) < number<std::int32_t>(b)
                           : number<std::int64_t>(a) < number<std::int64_t>(b);
    };
    if (i == 0 || less(value, least)) least = value;
    if (i == 0 || less(most, value)) most = value;
  }
  out.least = least;
  out.most = most;
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
  end_parquet_footer(thrift, boxes_ ? columns_.size() : 0, out);
  return out;
}

// Whole groups differ only in their offsets. The offset of a column occurs twice; that of the indices after a
// dictionary, once.
std::uint64_t ParquetLayout::footer_size() const {
  if (groups() <= 2 || boxes_) return footer().size();
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
    const std::uint64_t names = dictionary_bytes(column, 0);
    add_numbers(0, 2);
    if (names > 0) add_numbers(names, 1);
    const std::uint64_t left = column_bytes(column, groups() - 1);
    offset += column_bytes(column, 0), last += left, second += left;
  }
  return size;
}

}  // namespace h5mount::view
