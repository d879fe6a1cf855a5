#include "numpy_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "h5mount/base/utf8.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

namespace {

Error no_dtype(std::string why) {
  return {ErrorCode::UnsupportedFeature, std::move(why)};
}

std::string python_literal(std::string_view text) {
  return fmt::format("'{}'", text);
}

std::uint32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return lead;
  std::uint32_t value = lead & (0xFFU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) value = value << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return value;
}

// A Python string literal in ASCII; bytes that are not UTF-8 are written as h5py decodes them
// (surrogateescape).
std::string python_string(std::string_view text) {
  std::string out = "'";
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    const std::uint32_t value =
        bytes > 0 ? code_point(text.substr(0, bytes)) : 0xDC00U + static_cast<unsigned char>(text[0]);
    if (value == '\'' || value == '\\')
      out += fmt::format("\\{}", static_cast<char>(value));
    else if (value >= ' ' && value < 0x7F)
      out += static_cast<char>(value);
    else if (value < 0x100)
      out += fmt::format("\\x{:02x}", value);
    else
      out += value < 0x1'0000 ? fmt::format("\\u{:04x}", value) : fmt::format("\\U{:08x}", value);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out + "'";
}

std::string raw_bytes(const format::Datatype& type) {
  return fmt::format("'|V{}'", type.size);
}

// Whether the text (`user.hdf5.dtype`) is NumPy's own typestr.
bool is_typestr(std::string_view text) {
  constexpr std::string_view kOrders = "<>|", kKinds = "iufbcS";
  return text.size() >= 3 && kOrders.contains(text[0]) && kKinds.contains(text[1]) &&
         std::ranges::all_of(text.substr(2), [](char c) { return c >= '0' && c <= '9'; });
}

bool has_plain_order(const format::Datatype& type) {
  return type.order == format::ByteOrder::Little || type.order == format::ByteOrder::Big;
}

char order_mark(const format::Datatype& type) {
  return type.size == 1 ? '|' : type.order == format::ByteOrder::Big ? '>' : '<';
}

bool is_integer_size(const format::Datatype& type) {
  return type.size == 1 || type.size == 2 || type.size == 4 || type.size == 8;
}

// The 80 bits of an x87 float in 16 bytes: NumPy's longdouble on machines that have it.
bool is_long_double(const format::Datatype& t) {
  return t.size == 16 && t.order == format::ByteOrder::Little && t.bit_offset == 0 && t.bit_precision == 80 &&
         t.sign_location == 79 && t.exponent_location == 64 && t.exponent_size == 15 &&
         t.mantissa_location == 0 && t.mantissa_size == 64 && t.exponent_bias == 16'383 &&
         t.normalization == format::MantissaNormalization::None;
}

Result<NumpyType> number(const format::Datatype& type) {
  const std::string text = text::datatype_text(type);
  if (is_typestr(text)) return NumpyType{python_literal(text), {}};
  if (type.cls == format::DatatypeClass::Float && is_long_double(type)) return NumpyType{"'<f16'", {}};
  return fail(no_dtype(fmt::format("NumPy has no type for {}", text)));
}

Result<NumpyType> bits(const format::Datatype& type) {
  const bool whole = type.bit_offset == 0 && type.bit_precision == 8 * type.size;
  if (!is_integer_size(type) || !has_plain_order(type) || !whole)
    return fail(no_dtype("NumPy has no type for this bitfield"));
  return NumpyType{fmt::format("'{}u{}'", order_mark(type), type.size), {}};
}

// h5py marks opaque elements that hold NumPy's dates and times with their dtype: "NUMPY:M8[ns]".
Result<NumpyType> opaque(const format::Datatype& type) {
  constexpr std::string_view kMark = "NUMPY:";
  std::string_view tag = type.tag;
  if (tag.starts_with(kMark) && type.size == 8) {
    tag.remove_prefix(kMark.size());
    const std::string_view unit = tag.substr(0, 1) == "<" || tag.substr(0, 1) == ">" ? tag.substr(1) : tag;
    const auto safe = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '[' || c == ']' || c == 'M' ||
             c == 'Y' || c == 'W' || c == 'D';
    };
    if ((unit.starts_with("M8[") || unit.starts_with("m8[")) && unit.ends_with(']') &&
        std::ranges::all_of(unit, safe))
      return NumpyType{python_literal(tag), {}};
  }
  return NumpyType{raw_bytes(type), {}};
}

bool is_float_of(const format::Datatype& type, std::uint32_t bytes) {
  return type.cls == format::DatatypeClass::Float && type.size == bytes;
}

// h5py's complex numbers: two equal floats named r and i.
std::optional<NumpyType> complex_compound(const format::Datatype& type) {
  if (type.members.size() != 2 || type.members[0].name != "r" || type.members[1].name != "i") return {};
  const format::Datatype& real = *type.members[0].type;
  const format::Datatype& imaginary = *type.members[1].type;
  const std::uint32_t half = type.size / 2;
  const std::string text = text::datatype_text(real);
  if ((half != 4 && half != 8) || type.members[0].offset != 0 || type.members[1].offset != half ||
      !is_float_of(real, half) || !is_float_of(imaginary, half) || text != text::datatype_text(imaginary) ||
      !is_typestr(text))
    return {};
  return NumpyType{fmt::format("'{}c{}'", text[0], type.size), {}};
}

std::string shape_literal(const std::vector<std::uint32_t>& dims) {
  std::string out = "(";
  for (const std::uint32_t dim : dims) out += fmt::format("{}, ", dim);
  return out + ")";
}

// Members in the order of their offsets, padding as ('', '|V3'), which NumPy turns back into offsets.
Result<NumpyType> compound(const format::Datatype& type) {
  if (auto complex = complex_compound(type)) return *std::move(complex);
  std::uint64_t end = 0;
  std::set<std::string_view> names;
  std::string out = "[";
  const auto pad_to = [&](std::uint64_t offset) {
    if (offset > end) out += fmt::format("('', '|V{}'), ", offset - end);
    end = offset;
  };
  for (const format::CompoundMember& member : type.members) {
    if (member.offset < end) return NumpyType{raw_bytes(type), {}};  // a list of members cannot express it
    if (member.name.empty() || !names.insert(member.name).second)
      return fail(no_dtype("NumPy needs members with names of their own"));
    H5_ASSIGN(const NumpyType inner, numpy_type(*member.type));
    pad_to(member.offset);
    out += fmt::format("({}, {}", python_string(member.name), inner.description);
    if (!inner.dims.empty()) out += ", " + shape_literal(inner.dims);
    out += "), ";
    end += member.type->size;
  }
  pad_to(type.size);
  return NumpyType{out + "]", {}};
}

Result<NumpyType> array(const format::Datatype& type) {
  H5_ASSIGN(NumpyType inner, numpy_type(*type.base));
  inner.dims.insert(inner.dims.begin(), type.dims.begin(), type.dims.end());
  return inner;
}

Result<NumpyType> enumeration(const format::Datatype& type) {
  const std::string text = text::datatype_text(type);
  if (is_typestr(text)) return NumpyType{python_literal(text), {}};  // a boolean
  return numpy_type(*type.base);
}

}  // namespace

Result<NumpyType> numpy_type(const format::Datatype& type) {
  switch (type.cls) {
    case format::DatatypeClass::Integer:
    case format::DatatypeClass::Float:
    case format::DatatypeClass::Complex:
      return number(type);
    case format::DatatypeClass::String:
      return NumpyType{fmt::format("'|S{}'", type.size), {}};
    case format::DatatypeClass::Bitfield:
      return bits(type);
    case format::DatatypeClass::Opaque:
      return opaque(type);
    case format::DatatypeClass::Compound:
      return compound(type);
    case format::DatatypeClass::Enum:
      return enumeration(type);
    case format::DatatypeClass::Array:
      return array(type);
    case format::DatatypeClass::Time:
      return fail(no_dtype("NumPy has no type for HDF5's time"));
    case format::DatatypeClass::Reference:
      return fail(no_dtype("references have no form of fixed size outside the file"));
    case format::DatatypeClass::VariableLength:
      return fail(no_dtype("elements of variable length"));
  }
  return fail(no_dtype("a datatype that NumPy does not have"));
}

}  // namespace h5mount::view
