#include "cell_text.h"

#include <algorithm>
#include <cmath>

#include "h5mount/base/bytes.h"
#include "h5mount/base/text.h"
#include "h5mount/text/integer_text.h"
#include "h5mount/text/number_kind.h"
#include "h5mount/text/strict_json.h"

namespace h5mount::view {

namespace {

using format::DatatypeClass;

constexpr std::string_view kNull = "null";

template <class Bits, bool kBig>
Bits load(const std::byte* at) {
  return kBig ? load_be<Bits>(at) : load_le<Bits>(at);
}

template <class Number, bool kBig>
char* write_number(const std::byte* at, char* out) {
  if constexpr (std::is_integral_v<Number>) {
    return text::write_integer(load<Number, kBig>(at), out);
  } else {
    using Bits = std::conditional_t<sizeof(Number) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
    const auto value = std::bit_cast<Number>(load<Bits, kBig>(at));
    if (std::isfinite(value)) return text::write_float(value, out);
    return std::ranges::copy(std::string_view(std::isnan(value) ? "NaN"
                                              : value < 0       ? "-Infinity"
                                                                : "Infinity"),
                             out)
        .out;
  }
}

// Returns null for types that are not plain integers or floats.
auto number_of(const format::Datatype& type) -> char* (*)(const std::byte*, char*) {
  const auto number = text::number_type(type);
  if (!number) return nullptr;
  return text::with_number(number->kind, [&]<class Number>(Number) {
    return number->big_endian ? write_number<Number, true> : write_number<Number, false>;
  });
}

Cell::Kind kind_of(const format::Datatype& type) {
  if (is_complex(type)) return Cell::Kind::Complex;
  switch (type.cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Time:
      return Cell::Kind::Integer;
    case DatatypeClass::Float:
      return Cell::Kind::Float;
    case DatatypeClass::String:
      return Cell::Kind::Text;
    case DatatypeClass::VariableLength:
      return type.variable_string ? Cell::Kind::Text : Cell::Kind::Json;
    default:
      return Cell::Kind::Json;
  }
}

const format::Datatype& part_type(const format::Datatype& complex) {
  return complex.cls == DatatypeClass::Complex ? *complex.base : *complex.members[0].type;
}

ByteSpan real_part(const format::Datatype& type, ByteSpan element) {
  if (type.cls == DatatypeClass::Complex) return element.first(type.base->size);
  return element.subspan(type.members[0].offset, type.members[0].type->size);
}

ByteSpan imaginary_part(const format::Datatype& type, ByteSpan element) {
  if (type.cls == DatatypeClass::Complex) return element.subspan(type.base->size, type.base->size);
  return element.subspan(type.members[1].offset, type.members[1].type->size);
}

// The form in the repr of a Python complex: without ".0", and with nan and inf.
std::string python_float(std::string text) {
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  if (text == "NaN") return "nan";
  if (text.ends_with("Infinity")) return text[0] == '-' ? "-inf" : "inf";
  return text;
}

Status append_complex(const format::Datatype& type, ByteSpan element, const text::ValueContext& context,
                      std::string& out) {
  std::string real, imaginary;
  H5_TRY(text::append_json(part_type(type), real_part(type, element), context, real));
  H5_TRY(text::append_json(part_type(type), imaginary_part(type, element), context, imaginary));
  imaginary = python_float(std::move(imaginary));
  real = python_float(std::move(real));
  if (real == "0") {
    out += imaginary + "j";
    return {};
  }
  out += real;
  if (imaginary[0] != '-') out += '+';
  out += imaginary + "j";
  return {};
}

// The bytes of a JSON string literal that text::append_json wrote, where only control characters and bytes
// that are not UTF-8 (as \udcXX) are escaped by number.
void append_unquoted(std::string_view literal, std::string& out) {
  literal = literal.substr(1, literal.size() - 2);
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\') {
      out += literal[i];
      continue;
    }
    const char escape = literal[++i];
    constexpr std::string_view kLetters = "bfnrt", kMeant = "\b\f\n\r\t";
    if (escape == 'u') {
      out += parse_hex_byte(literal.substr(i + 3)).value_or(0);
      i += 4;
    } else if (const std::size_t at = kLetters.find(escape); at != std::string_view::npos) {
      out += kMeant[at];
    } else {
      out += escape;
    }
  }
}

// As the views have it: a table's NaN is a missing value.
std::string strict_json(std::string_view json) {
  return text::strict_json(json, text::NotFinite::NanIsNull);
}

std::optional<std::size_t> integer_width(const format::Datatype& type) {
  if (type.size > 8) return std::nullopt;
  constexpr std::size_t kWidths[] = {0, 4, 6, 8, 11, 13, 16, 18, 20};  // digits and sign, by bytes
  return kWidths[type.size];
}

// The length of the longest of the type's decimals: of the shortest ones, or of -9007199254740992.0, the
// longest whole number that is written in full.
std::optional<std::size_t> float_width(const format::Datatype& type) {
  const std::string text = text::datatype_text(type);
  if (text.ends_with("f2")) return 17;
  if (text.ends_with("f4")) return 19;
  if (text.ends_with("f8")) return 25;
  return std::nullopt;
}

std::optional<std::size_t> enum_width(const format::Datatype& type) {
  std::optional<std::size_t> width = integer_width(*type.base);
  for (const format::EnumMember& member : type.enum_members)
    if (width) width = std::max(*width, text::json_string_length(member.name));
  return width;
}

// Appends a category as strict JSON. `place`: nullopt for a missing value.
void append_category(const object::Categories& categories, std::optional<std::uint64_t> place,
                     std::string& out) {
  if (!place)
    out += "null";
  else if (categories.strings)
    text::append_json_string(categories.name(*place), out);
  else
    out += strict_json(categories.name(*place));
}

}  // namespace

Cell::Cell(const Column& column)
    : type_(column.type),
      categories_(column.categories),
      offset_(column.offset),
      mask_(column.mask),
      kind_(!categories_        ? kind_of(*column.type)
            : categories_->list ? Kind::List
                                : Kind::Category),
      number_(categories_ ? nullptr : number_of(*column.type)) {}

Result<bool> Cell::append_plain(const std::byte* row, const text::ValueContext& context,
                                std::string& out) const {
  if (is_masked(row)) return false;
  if (kind_ == Kind::Text && type_->cls == DatatypeClass::String) {
    out += text::fixed_string(*type_, element(row));
    return true;
  }
  if (kind_ == Kind::Text) {
    H5_TRY(text::append_string(*type_, element(row), context, out));
    return true;
  }
  if (kind_ == Kind::Complex) {
    H5_TRY(append_complex(*type_, element(row), context, out));
    return true;
  }
  if (kind_ == Kind::List) {
    H5_TRY(append_list(row, context, out));
    return true;
  }
  if (kind_ == Kind::Category) {
    H5_ASSIGN(const auto place, category_of(*type_, row + offset_, *categories_));
    if (place) out += categories_->name(*place);
    return place.has_value();
  }
  std::string json;
  H5_TRY(text::append_json(*type_, element(row), context, json));
  if (json == "null") return false;
  if (json.starts_with('"'))
    append_unquoted(json, out);
  else
    out += json;
  return true;
}

char* Cell::make_strict(char* begin, char* end) {
  return std::ranges::copy(strict_json({begin, end}), begin).out;
}

Status Cell::append_json(const std::byte* row, const text::ValueContext& context, std::string& out) const {
  if (!is_masked(row)) return append_present(row, context, out);
  out += kNull;
  return {};
}

Status Cell::append_present(const std::byte* row, const text::ValueContext& context, std::string& out) const {
  if (is_number()) {
    char number[kNumberRoom];
    out.append(number, write_json(row, number));
    return {};
  }
  if (kind_ == Kind::Text && type_->cls == DatatypeClass::String) {
    text::append_json_string(text::fixed_string(*type_, element(row)), out);
    return {};
  }
  if (kind_ == Kind::List) return append_list(row, context, out);
  if (kind_ == Kind::Category) {
    H5_ASSIGN(const auto place, category_of(*type_, row + offset_, *categories_));
    append_category(*categories_, place, out);
    return {};
  }
  const bool may_have_floats = kind_ == Kind::Complex || kind_ == Kind::Float ||
                               (type_->cls == DatatypeClass::VariableLength && kind_ != Kind::Text);
  if (!may_have_floats) return text::append_json(*type_, element(row), context, out);
  std::string text;
  if (kind_ != Kind::Complex) {
    H5_TRY(text::append_json(*type_, element(row), context, text));
    out += strict_json(text);
    return {};
  }
  std::string imaginary;
  H5_TRY(text::append_json(part_type(*type_), real_part(*type_, element(row)), context, text));
  H5_TRY(text::append_json(part_type(*type_), imaginary_part(*type_, element(row)), context, imaginary));
  out.append("[").append(strict_json(text)).append(",").append(strict_json(imaginary)).append("]");
  return {};
}

Status Cell::append_list(const std::byte* row, const text::ValueContext& context, std::string& out) const {
  const std::byte* const at = row + offset_;
  return categories_->list(load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + sizeof(std::uint64_t)),
                           context.budget, out);
}

std::size_t Cell::category_width() const {
  std::string text = "null";
  std::size_t width = text.size();
  for (std::uint64_t i = 0; i < categories_->count(); ++i) {
    text.clear();
    append_category(*categories_, i, text);
    width = std::max(width, text.size());
  }
  return width;
}

std::optional<std::size_t> Cell::json_width() const {
  const std::optional<std::size_t> width = present_width();
  return width && mask_ ? std::max(*width, kNull.size()) : width;
}

std::optional<std::size_t> Cell::present_width() const {
  switch (kind_) {
    case Kind::Category: {
      constexpr std::size_t kWorthPadding = 256;
      if (!categories_->known) return std::nullopt;
      const std::size_t width = category_width();
      return width <= kWorthPadding ? std::optional(width) : std::nullopt;
    }
    case Kind::Integer:
      return integer_width(*type_);
    case Kind::Float:
      return float_width(*type_);
    case Kind::Complex:
      if (const auto part = float_width(part_type(*type_))) return 2 * *part + 3;
      return std::nullopt;
    case Kind::Text:
    case Kind::List:
      return std::nullopt;
    case Kind::Json:
      break;
  }
  if (type_->cls == DatatypeClass::Enum) return enum_width(*type_);
  if (type_->cls == DatatypeClass::Opaque || type_->cls == DatatypeClass::Bitfield)
    return 2 * std::size_t{type_->size} + 4;
  return std::nullopt;
}

}  // namespace h5mount::view
