#include "row_text.h"

#include <numeric>

namespace h5mount::view {

namespace {

std::vector<Cell> cells_of(const Table& table) {
  std::vector<Cell> cells;
  cells.reserve(table.columns.size());
  for (const Column& column : table.columns) cells.emplace_back(column);
  return cells;
}

// Elements may share what they refer to, so that a small file can ask for any amount of text.
Status within_bound(const std::string& out) {
  if (out.size() <= kMaxBlockText) return {};
  return fail({ErrorCode::LimitExceeded, "rows of a table with too much text"});
}

class DelimitedRows final : public RowText {
 public:
  DelimitedRows(const Table& table, char delimiter) : cells_(cells_of(table)), delimiter_(delimiter) {
    const char special[] = {delimiter, '"', '\n', '\r'};
    special_.assign(special, sizeof special);
    for (const Column& column : table.columns) {
      const std::size_t start = header_.size();
      header_ += column.name;
      end_field(start, header_);
      header_ += delimiter_;
    }
    header_.back() = '\n';
  }

  std::string header() const override { return header_; }

  Status append_row(const std::byte* row, const text::ValueContext& context,
                    std::string& out) const override {
    for (const Cell& cell : cells_) {
      if (cell.append_number(row, delimiter_, out)) continue;
      const std::size_t start = out.size();
      H5_TRY(cell.append_plain(row, context, out));
      if (cell.kind() != Cell::Kind::Integer && cell.kind() != Cell::Kind::Float) {
        end_field(start, out);
        H5_TRY(within_bound(out));
      }
      out += delimiter_;
    }
    out.back() = '\n';
    return {};
  }

 private:
  // Quotes the field that was appended from `start` on, where it needs that.
  void end_field(std::size_t start, std::string& out) const {
    if (out.size() == start) {
      if (cells_.size() == 1) out += "\"\"";
      return;
    }
    if (out.find_first_of(special_, start) == std::string::npos) return;
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
  char delimiter_;
  std::string special_;
  std::string header_;
};

class JsonRows final : public RowText {
 public:
  explicit JsonRows(const Table& table) : cells_(cells_of(table)) {
    std::size_t fixed = std::string_view("}\n").size();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      std::string key = i == 0 ? "{" : ",";
      text::append_json_string(table.columns[i].name, key);
      key += ':';
      fixed += key.size();
      keys_.push_back(std::move(key));
      if (const auto width = cells_[i].json_width()) widths_.push_back(*width);
    }
    if (widths_.size() < cells_.size()) widths_.clear();
    if (!widths_.empty()) width_ = std::accumulate(widths_.begin(), widths_.end(), fixed);
  }

  std::optional<std::size_t> row_width() const override { return width_; }

  Status append_row(const std::byte* row, const text::ValueContext& context,
                    std::string& out) const override {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      out += keys_[i];
      const std::size_t start = out.size();
      H5_TRY(cells_[i].append_json(row, context, out));
      H5_TRY(within_bound(out));
      if (widths_.empty()) continue;
      const std::size_t written = out.size() - start;
      if (written > widths_[i]) return fail({ErrorCode::Internal, "a value longer than its type allows"});
      out.append(widths_[i] - written, ' ');
    }
    out += "}\n";
    return {};
  }

 private:
  std::vector<Cell> cells_;
  std::vector<std::string> keys_;    // with what stands before them and the colon
  std::vector<std::size_t> widths_;  // of the values; empty where rows differ in length
  std::optional<std::size_t> width_;
};

}  // namespace

RowTextPtr delimited_rows(const Table& table, char delimiter) {
  return std::make_shared<DelimitedRows>(table, delimiter);
}

RowTextPtr json_rows(const Table& table) {
  return std::make_shared<JsonRows>(table);
}

}  // namespace h5mount::view
