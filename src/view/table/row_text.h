// RowText: the rows of a table as lines of text. Immutable; threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cell_text.h"

namespace h5mount::view {

// The most text of several rows that are rendered together: each worker may have as much.
inline constexpr std::size_t kMaxBlockText = 4U << 20;
// The most text of one row of a table; only a single value may exceed it.
inline constexpr std::size_t kMaxRowText = 32U << 20;

// Whether more rows may be appended. Elements may share what they refer to, so a small file can produce any
// amount of text. Errors: TooLarge above `context.max_bytes`, LimitExceeded above kMaxRowText.
Status within_bound(const std::string& out, const text::ValueContext& context);

// Appends an element as a word of a line: a string is not quoted; characters that would break the line stay
// escaped.
Status append_word(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                   std::string& out);

class RowText {
 public:
  virtual ~RowText() = default;

  virtual std::string header() const { return {}; }
  // The number of bytes that are the same in every row.
  virtual std::size_t constant_bytes() const { return 0; }
  // Appends the text of rows that are `row_bytes` apart, with their newlines. Fails with TooLarge if it
  // exceeds `context.max_bytes`.
  virtual Status append_rows(const std::byte* rows, std::size_t count, std::size_t row_bytes,
                             const text::ValueContext& context, std::string& out) const;
  // Appends one row.
  virtual Status append_row(const std::byte* row, const text::ValueContext& context,
                            std::string& out) const = 0;
  // The length of every row, newline included, if all rows have the same length.
  virtual std::optional<std::size_t> row_width() const { return std::nullopt; }
  // If all rows have the same length and only plain numbers, writes their text to the memory and returns
  // true; else returns false.
  virtual bool write_rows(const std::byte*, std::size_t, std::size_t, char*) const { return false; }
};
using RowTextPtr = std::shared_ptr<const RowText>;

// RFC 4180 with this delimiter and LF, a header row of the columns' names. Fields that contain the delimiter,
// a quote or a line end are quoted, and so is an empty text: a missing value is nothing. In a table with only
// one column that is quoted too, because readers skip empty lines.
RowTextPtr delimited_rows(const Table& table, char delimiter);

// One strict JSON object for each row. If every column has a longest value, each value is padded with spaces
// to that length, so that all rows have the same length.
RowTextPtr json_rows(const Table& table);

// The row_width of such rows, computed without making anything as long as a row.
std::optional<std::size_t> json_row_width(const Table& table);

}  // namespace h5mount::view
