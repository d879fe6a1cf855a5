#include "h5mount/text/text_bounds.h"

#include <algorithm>

#include "h5mount/base/bytes.h"

namespace h5mount::text {

namespace {

constexpr std::uint64_t kUnbounded = UINT64_MAX;
constexpr std::uint64_t kEscaped = 6;  // bytes of JSON for one byte of text: \u0000
constexpr std::uint64_t kQuotes = 2;

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return a > kUnbounded - b ? kUnbounded : a + b;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnbounded : product;
}

TextBounds quoted_string(std::uint64_t bytes) {
  return {add(bytes, kQuotes), add(times(bytes, kEscaped), kQuotes)};
}
TextBounds hex_string(std::uint64_t bytes) {
  return {2 * bytes + 4, 2 * bytes + 4};
}

// A decimal digit stands for more than 3 bits; a number that is too wide for decimal digits takes two
// hexadecimal digits for each byte.
TextBounds integer(const format::Datatype& type) {
  return {1, add(times(type.size, 3), 8)};
}

// The shortest is "0.0". The longest has the digits of the mantissa, up to 17 zeros, signs, point and
// exponent.
TextBounds floating(const format::Datatype& type) {
  return {3, std::max<std::uint64_t>(type.mantissa_size / 3U + 40, hex_string(type.size).most)};
}

// `count` items in `rank` dimensions, each followed by at least one comma or bracket. If the value is empty,
// its brackets have no upper bound.
TextBounds nested(const TextBounds& item, std::uint64_t count, std::uint64_t rank) {
  if (rank == 0) return item;
  if (count == 0) return {kQuotes, kUnbounded};
  return {add(times(count, add(item.least, 1)), 1),
          add(times(count, add(item.most, 2 * rank + 1)), 2 * rank)};
}

TextBounds element(const format::Datatype& type);

TextBounds enumeration(const format::Datatype& type) {
  TextBounds bounds = integer(*type.base);
  for (const format::EnumMember& member : type.enum_members)
    bounds.most = std::max(bounds.most, quoted_string(member.name.size()).most);
  return bounds;
}

TextBounds compound(const format::Datatype& type) {
  TextBounds bounds{kQuotes, kQuotes};
  for (const format::CompoundMember& member : type.members) {
    const TextBounds name = quoted_string(member.name.size()), value = element(*member.type);
    bounds.least = add(bounds.least, add(name.least, add(value.least, 1)));
    bounds.most = add(bounds.most, add(name.most, add(value.most, 2)));
  }
  return bounds;
}

TextBounds array(const format::Datatype& type) {
  std::uint64_t count = 1;
  for (const std::uint32_t dim : type.dims) count = times(count, dim);
  return nested(element(*type.base), count, type.dims.size());
}

// Recursion ends with the type's depth (limits::kMaxDatatypeDepth).
TextBounds element(const format::Datatype& type) {
  switch (type.cls) {
    case format::DatatypeClass::Integer:
    case format::DatatypeClass::Time:
      return integer(type);
    case format::DatatypeClass::Float:
      return floating(type);
    case format::DatatypeClass::Bitfield:
    case format::DatatypeClass::Opaque:
      return hex_string(type.size);
    case format::DatatypeClass::Enum:
      return enumeration(type);
    case format::DatatypeClass::Compound:
      return compound(type);
    case format::DatatypeClass::Array:
      return array(type);
    case format::DatatypeClass::String:
      return {kQuotes, quoted_string(type.size).most};
    case format::DatatypeClass::Reference:
    case format::DatatypeClass::VariableLength:
      return {kQuotes, kUnbounded};
    case format::DatatypeClass::Complex: {
      const TextBounds half = floating(*type.base);
      return {2 * half.least + 3, 2 * half.most + 3};
    }
  }
  return {0, kUnbounded};
}

// Each element starts with its length in bytes.
TextBounds variable_strings(const format::Datatype& type, const format::Dataspace& space, ByteSpan data) {
  const bool bare = space.kind == format::DataspaceKind::Scalar;
  TextBounds bounds =
      nested({bare ? 0 : kQuotes, 0}, space.element_count().value_or(kUnbounded), space.rank());
  for (std::size_t at = 0; at + type.size <= data.size() && type.size >= sizeof(std::uint32_t);
       at += type.size) {
    const auto length = load_le<std::uint32_t>(data.data() + at);
    bounds.most = add(bounds.most, bare ? length : quoted_string(length).most);
  }
  return bounds;
}

}  // namespace

TextBounds value_text_bounds(const format::Datatype& type, const format::Dataspace& space, ByteSpan data) {
  constexpr TextBounds kNull{4, 4};
  if (space.kind == format::DataspaceKind::Null) return kNull;
  if (type.variable_string) return variable_strings(type, space, data);
  if (space.kind == format::DataspaceKind::Scalar && type.cls == format::DatatypeClass::String)
    return {0, type.size};
  return nested(element(type), space.element_count().value_or(kUnbounded), space.rank());
}

}  // namespace h5mount::text
