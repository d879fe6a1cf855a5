#include "row_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>

#include "h5mount/text/integer_text.h"

namespace h5mount::view {

namespace {

std::vector<Cell> cells_of(const Table& table) {
  std::vector<Cell> cells;
  cells.reserve(table.columns.size());
  for (const Column& column : table.columns) cells.emplace_back(column);
  return cells;
}

bool all_numbers(const std::vector<Cell>& cells) {
  return std::ranges::all_of(cells, &Cell::is_number);
}

// Appends what precedes a value: the start of the row or the end of the value before, and the column's key.
void append_key(const Table& table, std::size_t column, std::string& out) {
  out += column == 0 ? '{' : ',';
  text::append_json_string(table.columns[column].name, out);
  out += ':';
}
constexpr std::string_view kRowEnd = "}\n";

// Caches Cell::json_width. For an enumeration that is a walk over its names, and the columns of a table may
// share its type.
class JsonWidths {
 public:
  std::optional<std::size_t> of(const Cell& cell) {
    if (cell.type().cls != format::DatatypeClass::Enum || cell.may_be_masked()) return cell.json_width();
    const auto [known, is_new] = enumerations_.try_emplace(&cell.type());
    if (is_new) known->second = cell.json_width();
    return known->second;
  }

 private:
  std::map<const format::Datatype*, std::optional<std::size_t>> enumerations_;
};

class DelimitedRows final : public RowText {
 public:
  DelimitedRows(const Table& table, char delimiter)
      : cells_(cells_of(table)), all_numbers_(all_numbers(cells_)), delimiter_(delimiter) {
    for (const char c : {delimiter, '"', '\n', '\r'}) special_[static_cast<unsigned char>(c)] = true;
    for (const Column& column : table.columns) {
      const std::size_t start = header_.size();
      header_ += column.name;
      end_field(start, cells_.size() == 1, header_);
      header_ += delimiter_;
    }
    header_.back() = '\n';
  }

  std::string header() const override { return header_; }

  Status append_rows(const std::byte* rows, std::size_t count, std::size_t row_bytes,
                     const text::ValueContext& context, std::string& out) const override {
    if (!all_numbers_) return RowText::append_rows(rows, count, row_bytes, context, out);
    const std::size_t start = out.size(), most = cells_.size() * (Cell::kNumberRoom + 1);
    out.resize_and_overwrite(start + count * most, [&](char* text, std::size_t) {
      char* to = text + start;
      for (std::size_t i = 0; i < count; ++i) to = write_numbers(rows + i * row_bytes, to);
      return static_cast<std::size_t>(to - text);
    });
    return {};
  }

  Status append_row(const std::byte* row, const text::ValueContext& context,
                    std::string& out) const override {
    for (const Cell& cell : cells_) {
      const std::size_t start = out.size();
      if (cell.is_number()) {
        char number[Cell::kNumberRoom];
        out.append(number, end_number(number, cell.write_plain(row, number)));
        out += delimiter_;
        continue;
      }
      H5_ASSIGN(const bool present, cell.append_plain(row, context, out));
      if (cells_.size() == 1 || (cell.kind() != Cell::Kind::Integer && cell.kind() != Cell::Kind::Float)) {
        end_field(start, present, out);
        H5_TRY(within_bound(out, context));
      }
      out += delimiter_;
    }
    out.back() = '\n';
    return {};
  }

 private:
  char* write_numbers(const std::byte* row, char* to) const {
    for (const Cell& cell : cells_) {
      to = end_number(to, cell.write_plain(row, to));
      *to++ = delimiter_;
    }
    to[-1] = '\n';
    return to;
  }

  // A missing number is nothing, but for the only field of a line.
  char* end_number(const char* begin, char* end) const {
    if (end == begin && cells_.size() == 1) end = std::fill_n(end, 2, '"');
    return end;
  }

  // Quotes the field that was appended from `start` on, if necessary.
  void end_field(std::size_t start, bool present, std::string& out) const {
    if (out.size() == start) {
      if (present || cells_.size() == 1) out += "\"\"";
      return;
    }
    const auto special = [&](char c) { return special_[static_cast<unsigned char>(c)]; };
    if (std::none_of(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(), special)) return;
    const std::string field = out.substr(start);
    out.resize(start);
    out += '"';
    for (const char c : field) {
      out += c;
      if (c == '"') out += c;
    }
    out += '"';
  }

  std::vector<Cell> cells_;
  bool all_numbers_;
  char delimiter_;
  std::array<bool, 256> special_{};  // indexed by character
  std::string header_;
};

class JsonRows final : public RowText {
 public:
  explicit JsonRows(const Table& table) : cells_(cells_of(table)), all_numbers_(all_numbers(cells_)) {
    JsonWidths widths;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      append_key(table, i, keys_.emplace_back());
      keys_.back().shrink_to_fit();
      constant_bytes_ += keys_.back().size();
      if (const auto width = widths.of(cells_[i])) widths_.push_back(*width);
    }
    if (widths_.size() < cells_.size()) widths_.clear();
    if (widths_.empty()) return;
    width_ = std::accumulate(widths_.begin(), widths_.end(), constant_bytes_);
    if (all_numbers_) make_blank_rows();
  }

  std::size_t constant_bytes() const override { return constant_bytes_; }
  std::optional<std::size_t> row_width() const override { return width_; }

  bool write_rows(const std::byte* rows, std::size_t count, std::size_t row_bytes, char* out) const override {
    if (blank_rows_.empty()) return false;
    const std::size_t at_once = blank_rows_.size() / *width_;
    for (std::size_t i = 0; i < count; i += at_once) {
      const std::size_t some = std::min(at_once, count - i);
      std::memcpy(out, blank_rows_.data(), some * *width_);
      for (std::size_t row = i; row < i + some; ++row, out += *width_)
        write_numbers(rows + row * row_bytes, out);
    }
    return true;
  }

  Status append_row(const std::byte* row, const text::ValueContext& context,
                    std::string& out) const override {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      out += keys_[i];
      const std::size_t start = out.size();
      H5_TRY(cells_[i].append_json(row, context, out));
      H5_TRY(within_bound(out, context));
      if (widths_.empty()) continue;
      const std::size_t written = out.size() - start;
      if (written > widths_[i]) return fail({ErrorCode::Internal, "a value longer than its type allows"});
      out.append(widths_[i] - written, ' ');
    }
    out += kRowEnd;
    return {};
  }

 private:
  // Makes rows with spaces in place of values, which are copied many at a time: that takes 0.4 of the time of
  // writing one piece of constant text after another. There are none if a row is so wide that a copy of it
  // would take much memory.
  void make_blank_rows() {
    constexpr std::size_t kBytes = 8U << 10, kMaxBytes = 1U << 20;
    if (*width_ > kMaxBytes) return;
    std::string row;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      row += keys_[i];
      places_.push_back(row.size());
      row.append(widths_[i], ' ');
    }
    row += kRowEnd;
    do blank_rows_ += row;
    while (blank_rows_.size() + row.size() <= kBytes);
  }

  // Writes the numbers into a blank row.
  void write_numbers(const std::byte* row, char* to) const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      char* const place = to + places_[i];
      if (cells_[i].kind() == Cell::Kind::Integer && widths_[i] >= text::kMinIntegerRoom &&
          !cells_[i].is_masked(row)) {
        cells_[i].write_plain(row, place);
        continue;
      }
      char number[Cell::kNumberRoom];
      std::memcpy(place, number, static_cast<std::size_t>(cells_[i].write_json(row, number) - number));
    }
  }

  std::vector<Cell> cells_;
  bool all_numbers_;
  std::vector<std::string> keys_;    // with the preceding punctuation and the colon
  std::vector<std::size_t> widths_;  // of the values; empty if rows differ in length
  std::vector<std::size_t> places_;  // of the values in a blank row
  std::string blank_rows_;           // one or more; empty if rows are not written that way
  std::size_t constant_bytes_ = kRowEnd.size();
  std::optional<std::size_t> width_;
};

}  // namespace

Status within_bound(const std::string& out, const text::ValueContext& context) {
  if (out.size() > context.max_bytes)
    return fail({ErrorCode::TooLarge, "more text than is rendered at once"});
  if (out.size() <= kMaxRowText) return {};
  return fail({ErrorCode::LimitExceeded, "a row of a table with too much text"});
}

Status RowText::append_rows(const std::byte* rows, std::size_t count, std::size_t row_bytes,
                            const text::ValueContext& context, std::string& out) const {
  for (std::size_t i = 0; i < count; ++i) {
    H5_TRY(append_row(rows + i * row_bytes, context, out));
    if (count > 1) H5_TRY(within_bound(out, context));
  }
  return {};
}

RowTextPtr delimited_rows(const Table& table, char delimiter) {
  return std::make_shared<DelimitedRows>(table, delimiter);
}

RowTextPtr json_rows(const Table& table) {
  return std::make_shared<JsonRows>(table);
}

std::optional<std::size_t> json_row_width(const Table& table) {
  std::size_t width = kRowEnd.size();
  std::string key;
  JsonWidths widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto value = widths.of(Cell(table.columns[i]));
    if (!value) return std::nullopt;
    key.clear();
    append_key(table, i, key);
    width += key.size() + *value;
  }
  return width;
}

}  // namespace h5mount::view
