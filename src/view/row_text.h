// RowText: the rows of a table as lines of text. Immutable; threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cell_text.h"

namespace h5mount::view {

// Text that is rendered at a time; only a single row may have more.
inline constexpr std::size_t kMaxBlockText = 64U << 20;

class RowText {
 public:
  virtual ~RowText() = default;

  virtual std::string header() const { return {}; }
  // Appends the row that begins at `row`, with its newline.
  virtual Status append_row(const std::byte* row, const text::ValueContext& context,
                            std::string& out) const = 0;
  // The length of every row, newline included, where all have the same.
  virtual std::optional<std::size_t> row_width() const { return std::nullopt; }
};
using RowTextPtr = std::shared_ptr<const RowText>;

// RFC 4180 with this delimiter and LF, a header row of the columns' names. What contains the delimiter, a
// quote or a line end is quoted; so is the empty cell of a table of one column, whose line would else be
// empty, which readers skip.
RowTextPtr delimited_rows(const Table& table, char delimiter);

// A strict JSON object a row. Where every column has a longest value, each value is followed by spaces up to
// that length, so that all rows have one length.
RowTextPtr json_rows(const Table& table);

}  // namespace h5mount::view
