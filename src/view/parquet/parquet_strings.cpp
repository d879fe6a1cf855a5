#include "parquet_strings.h"

#include <atomic>
#include <cstring>

#include "../table/cell_text.h"
#include "../table/table_file.h"
#include "h5mount/base/bytes.h"
#include "h5mount/base/utf8.h"
#include "parquet_dictionary.h"

namespace h5mount::view {

namespace {

constexpr std::size_t kStringLengthBytes = 4;

Status too_long() {
  return fail({ErrorCode::LimitExceeded, "rows of a table with too much text"});
}

// The first element of a list and the one behind it.
Result<std::pair<std::uint64_t, std::uint64_t>> list_at(const ParquetColumn& column, const std::byte* row) {
  const std::byte* const at = row + column.offset;
  const auto first = load_le<std::uint64_t>(at), end = load_le<std::uint64_t>(at + sizeof(std::uint64_t));
  if (column.list->is_sound(first, end)) return std::pair(first, end);
  return fail(
      Error(ErrorCode::OutOfRange, "a list that ends before it begins, or behind the data").with_found(end));
}

// The bytes of the levels of so many places: for each whether it continues a list, and whether it has a
// number.
std::uint64_t list_level_bytes(std::uint64_t places) {
  return 2 * (kStringLengthBytes + run_header(places).size() + divide_up(places, 8));
}

// One pass over the row groups of a layout.
class Pass {
 public:
  Pass(const ViewInput& source, const Table& table, const ParquetLayout& layout, RequestBudget& budget)
      : source_(source), table_(table), layout_(layout), budget_(budget) {
    for (const ParquetColumn& column : layout.columns())
      if (column.is_measured()) columns_.push_back(&column);
    found_.page_bytes.resize(static_cast<std::size_t>(layout.groups()) * columns_.size());
    found_.values.resize(found_.page_bytes.size());
    found_.utf8.assign(columns_.size(), true);
  }

  // Groups [0, groups) are unchanged.
  void take_over(const ParquetStrings& before, std::uint64_t groups) {
    first_ = groups;
    const auto count = static_cast<std::size_t>(groups) * columns_.size();
    std::ranges::copy_n(before.page_bytes.begin(), static_cast<std::ptrdiff_t>(count),
                        found_.page_bytes.begin());
    std::ranges::copy_n(before.values.begin(), static_cast<std::ptrdiff_t>(count), found_.values.begin());
    if (groups > 0) found_.utf8 = before.utf8;
  }

  Result<ParquetStrings> run() {
    const auto count = static_cast<std::size_t>(layout_.groups() - first_);
    const auto job = [&](std::size_t i) { measure(first_ + i); };
    if (source_.environment.workers && layout_.rows_per_group() * table_.row_bytes <= kBytesSideBySide)
      source_.environment.workers->for_each_index(count, job);
    else
      for (std::size_t i = 0; i < count; ++i) job(i);
    if (const auto failure = first_error()) return fail(*failure);
    return std::move(found_);
  }
  // Bytes of rows as they are stored: several threads do not hold more than that in memory.
  static constexpr std::uint64_t kBytesSideBySide = 8U << 20;

  // Whether a group has more text than may be rendered at once.
  bool has_long_strings() const { return has_long_strings_; }

 private:
  bool following() const { return source_.values.file && source_.values.file->following(); }

  void measure(std::uint64_t group) {
    if (first_error()) return;
    std::vector<std::byte> rows(static_cast<std::size_t>(layout_.rows_of(group) * table_.row_bytes));
    Status read = source_.reader->read_into(layout_.first_row(group) * table_.row_bytes, rows, budget_);
    std::uint64_t group_bytes = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t place = static_cast<std::size_t>(group) * columns_.size() + i;
      std::uint64_t& bytes = found_.page_bytes[place];
      if (columns_[i]->list) {
        if (read) read = measure_lists(*columns_[i], rows, found_.values[place], bytes);
        if (!read)
          found_.values[place] = layout_.rows_of(group), bytes = list_level_bytes(found_.values[place]);
      } else {
        bytes = level_bytes(*columns_[i], layout_.rows_of(group));
        if (read) read = measure(*columns_[i], rows, bytes);
        if (!read) bytes += layout_.rows_of(group) * kStringLengthBytes;
      }
      group_bytes += bytes;
      if (read && group_bytes > kMaxRowText) read = too_long();
      if (total_.fetch_add(bytes) + bytes > max_variable_text(source_))
        note({ErrorCode::TooLarge, "more text than a file of this size can sensibly have"});
    }
    if (read) return;
    if (is_passing(read.error())) return note(read.error());
    // A structure that is being written is read again; it does not count as damaged.
    const ErrorCode why = read.error().code();
    if (why == ErrorCode::LimitExceeded) has_long_strings_ = true;
    if (why == ErrorCode::LimitExceeded || why == ErrorCode::Stale || following()) note(read.error());
  }

  // Adds the size of the strings to `bytes`.
  Status measure(const ParquetColumn& column, ByteSpan rows, std::uint64_t& bytes) {
    std::string text;
    bool utf8 = true;
    for (std::size_t at = 0; at < rows.size(); at += table_.row_bytes) {
      text.clear();
      H5_ASSIGN(const bool present,
                column.text->append_plain(rows.data() + at, {source_.values, budget_}, text));
      if (present || !column.optional) bytes += kStringLengthBytes + text.size();
      H5_TRY(budget_.spend(limits::kStepsPerTextByte * (text.size() + 8)));
      utf8 = utf8 && is_utf8(text);
      if (bytes > kMaxRowText) return too_long();
    }
    if (utf8) return {};
    const MutexLock lock(mutex_);
    found_.utf8[column.string_index] = false;
    return {};
  }

  Status measure_lists(const ParquetColumn& column, ByteSpan rows, std::uint64_t& places,
                       std::uint64_t& bytes) {
    std::uint64_t numbers = 0;
    places = 0;
    for (std::size_t at = 0; at < rows.size(); at += table_.row_bytes) {
      H5_ASSIGN(const auto list, list_at(column, rows.data() + at));
      numbers += list.second - list.first;
      places += std::max<std::uint64_t>(1, list.second - list.first);
      if (numbers > kMaxRowText) return too_long();
    }
    bytes = list_level_bytes(places) + numbers * column.value_bytes;
    if (bytes > kMaxRowText) return too_long();
    return budget_.spend(rows.size());
  }

  std::optional<Error> first_error() {
    const MutexLock lock(mutex_);
    return error_;
  }

  void note(Error error) {
    const MutexLock lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  const ViewInput& source_;
  const Table& table_;
  const ParquetLayout& layout_;
  RequestBudget& budget_;
  std::vector<const ParquetColumn*> columns_;  // of strings
  std::uint64_t first_ = 0;                    // the group being measured
  std::atomic<std::uint64_t> total_ = 0;
  std::atomic<bool> has_long_strings_ = false;
  ParquetStrings found_;  // each job has its own entries of `page_bytes`; `utf8` is set under the mutex
  Mutex mutex_;
  std::optional<Error> error_ H5_GUARDED_BY(mutex_);
};

std::uint64_t same_groups(const ParquetLayout& layout, const ParquetLayout& before, const Table& table,
                          std::span<const dataset::ByteRange> stale) {
  std::uint64_t rows = std::min(layout.rows(), before.rows());
  for (const dataset::ByteRange& range : stale)
    if (range.end > range.begin) rows = std::min(rows, range.begin / table.row_bytes);
  return rows / layout.rows_per_group();
}

bool same_columns(const ParquetLayout& a, const ParquetLayout& b) {
  return std::ranges::equal(a.columns(), b.columns(), [](const ParquetColumn& x, const ParquetColumn& y) {
    return x.name == y.name && x.physical == y.physical && x.offset == y.offset;
  });
}

}  // namespace

Status append_parquet_strings(const ParquetColumn& column, ByteSpan rows, std::uint64_t row_bytes,
                              const text::ValueContext& context, std::string& out) {
  const std::size_t begin = out.size();
  ParquetLevels levels(column, rows.size() / row_bytes, out);
  for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
    const std::size_t start = out.size();
    out.append(kStringLengthBytes, '\0');
    H5_ASSIGN(const bool present, column.text->append_plain(rows.data() + at, context, out));
    if (!present && column.optional) {
      out.resize(start);
      continue;
    }
    levels.set_present(at / row_bytes);
    const std::uint64_t length = out.size() - start - kStringLengthBytes;
    std::memcpy(out.data() + start, &length, kStringLengthBytes);
    if (out.size() - begin > kMaxRowText) return too_long();
  }
  return {};
}

Status append_parquet_lists(const ParquetColumn& column, ByteSpan rows, std::uint64_t row_bytes,
                            RequestBudget& budget, std::string& out) {
  std::vector<bool> continues, has_number;
  std::vector<std::byte> numbers;
  for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
    H5_ASSIGN(const auto list, list_at(column, rows.data() + at));
    const std::uint64_t count = list.second - list.first;
    if (numbers.size() + count > kMaxRowText) return too_long();
    H5_TRY(column.list->source->read(list.first, list.second, budget, numbers));
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, count); ++i) {
      continues.push_back(i > 0);
      has_number.push_back(count > 0);
    }
  }
  for (const std::vector<bool>& levels : {continues, has_number}) {
    std::string bits(divide_up(levels.size(), 8), '\0');
    for (std::size_t i = 0; i < levels.size(); ++i)
      if (levels[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
    const std::string header = run_header(levels.size());
    append_le(header.size() + bits.size(), kStringLengthBytes, out);
    out.append(header).append(bits);
  }
  for (std::size_t at = 0; at < numbers.size(); at += column.type->size)
    append_le(value_bits(column, numbers.data() + at), column.value_bytes, out);
  return {};
}

Result<ParquetLayout> measure_parquet_strings(const ViewInput& source, const Table& table,
                                              ParquetLayout layout, const ParquetLayout* before,
                                              std::span<const dataset::ByteRange> stale,
                                              RequestBudget& budget) {
  const auto cells = checked_mul(table.rows, layout.string_columns());
  if (!cells || *cells > limits::kMaxTextElements)
    return fail({ErrorCode::TooLarge, "too many values to be shown as a table"});
  for (;;) {
    Pass pass(source, table, layout, budget);
    if (before != nullptr && !layout.in_boxes() && !before->in_boxes() &&
        before->rows_per_group() == layout.rows_per_group() && same_columns(*before, layout))
      pass.take_over(before->strings(), same_groups(layout, *before, table, stale));
    auto strings = pass.run();
    if (strings) {
      layout.set_strings(*std::move(strings));
      return layout;
    }
    if (!pass.has_long_strings()) return fail(strings.error());
    constexpr std::uint64_t kShrink = 8;
    H5_ASSIGN(ParquetLayout smaller,
              ParquetLayout::of(source.reader->description(), table, budget,
                                std::max<std::uint64_t>(1, layout.rows_per_group() / kShrink)));
    if (smaller.rows_per_group() >= layout.rows_per_group()) return fail(strings.error());
    layout = std::move(smaller);
  }
}

}  // namespace h5mount::view
