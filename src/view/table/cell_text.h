// Cells: one value of a table as text; numbers of the usual types are written directly. Threads: any.
#pragma once

#include <algorithm>

#include "h5mount/text/shortest_float.h"
#include "table.h"

namespace h5mount::view {

class Cell {
 public:
  enum class Kind : std::uint8_t { Integer, Float, Complex, Text, Category, List, Json };

  explicit Cell(const Column& column);

  Kind kind() const { return kind_; }
  const format::Datatype& type() const { return *type_; }
  bool may_be_masked() const { return mask_.has_value(); }

  // Appends the value at `row` (the row's first byte). Integers and floats are written as in docs/promise.md
  // 'Values as text'; complex numbers as in Python, without brackets; a value that is a single string, and
  // the name of a category, as its own bytes, unquoted; all others as JSON. Returns false for a missing
  // value, for which nothing is appended: that of a mask, of the code -1, a reference that leads nowhere.
  Result<bool> append_plain(const std::byte* row, const text::ValueContext& context, std::string& out) const;
  // Writes an integer or float of a usual format directly to memory, of which kNumberRoom bytes may be
  // overwritten; returns the end. A missing one is nothing, or `null` in JSON.
  static constexpr std::size_t kNumberRoom = text::kFloatTextRoom;
  bool is_number() const { return number_ != nullptr; }
  bool is_masked(const std::byte* row) const { return mask_ && row[*mask_] != std::byte{0}; }
  char* write_plain(const std::byte* row, char* out) const {
    return is_masked(row) ? out : number_(row + offset_, out);
  }
  char* write_json(const std::byte* row, char* out) const {
    constexpr std::string_view kNull = "null";
    if (is_masked(row)) return std::copy(kNull.begin(), kNull.end(), out);
    char* end = number_(row + offset_, out);
    return kind_ == Kind::Float && (end[-1] == 'N' || end[-1] == 'y') ? make_strict(out, end) : end;
  }
  // Appends strict JSON: NaN and missing values are null, an infinity is a string, a complex number an array.
  Status append_json(const std::byte* row, const text::ValueContext& context, std::string& out) const;

  // The most bytes that append_json writes; nullopt if the type has no bound that is worth padding to.
  std::optional<std::size_t> json_width() const;

 private:
  // Rewrites NaN and infinities as append_json does.
  static char* make_strict(char* begin, char* end);
  using Number = char* (*)(const std::byte*, char* out);  // returns the end

  ByteSpan element(const std::byte* row) const { return {row + offset_, type_->size}; }

  Status append_present(const std::byte* row, const text::ValueContext& context, std::string& out) const;
  Status append_list(const std::byte* row, const text::ValueContext& context, std::string& out) const;
  std::optional<std::size_t> present_width() const;
  std::size_t category_width() const;

  format::DatatypePtr type_;
  object::CategoriesPtr categories_;
  std::uint64_t offset_;
  std::optional<std::uint64_t> mask_;
  Kind kind_;
  Number number_ = nullptr;  // for plain integers and floats, else null
};

}  // namespace h5mount::view
