// Cells: one value of a table as text, numbers of the usual types without a detour. Threads: any.
#pragma once

#include "table.h"

namespace h5mount::view {

class Cell {
 public:
  enum class Kind : std::uint8_t { Integer, Float, Complex, Text, Json };

  explicit Cell(const Column& column);

  Kind kind() const { return kind_; }
  const format::Datatype& type() const { return *type_; }

  // Appends the value at `row` (the row's first byte). Integers and floats as docs/promise.md 'Values as
  // text' has them; complex numbers as Python writes them, without brackets; texts and all else unquoted,
  // as their own bytes, where they are one string; else JSON.
  Status append_plain(const std::byte* row, const text::ValueContext& context, std::string& out) const;
  // Integers and floats of the usual formats, which are written to memory without a detour: at most
  // kMaxNumber bytes, of which the end is given.
  static constexpr std::size_t kMaxNumber = 32;
  bool is_number() const { return number_ != nullptr; }
  char* write_plain(const std::byte* row, char* out) const { return number_(row + offset_, out); }
  char* write_json(const std::byte* row, char* out) const {
    char* end = number_(row + offset_, out);
    return kind_ == Kind::Float && (end[-1] == 'N' || end[-1] == 'y') ? make_strict(out, end) : end;
  }
  // The same as strict JSON: NaN is null, an infinity a string, a complex number an array.
  Status append_json(const std::byte* row, const text::ValueContext& context, std::string& out) const;

  // The most bytes that append_json takes; nothing where the type gives no bound worth padding to.
  std::optional<std::size_t> json_width() const;

 private:
  // NaN and infinities as append_json has them.
  static char* make_strict(char* begin, char* end);
  using Number = char* (*)(const std::byte*, char* out);  // gives the end

  ByteSpan element(const std::byte* row) const { return {row + offset_, type_->size}; }

  format::DatatypePtr type_;
  std::uint64_t offset_;
  Kind kind_;
  Number number_ = nullptr;  // of plain integers and floats
};

}  // namespace h5mount::view
