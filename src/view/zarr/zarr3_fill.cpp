// Fill values in the metadata of Zarr version 3.
#include <fmt/format.h>

#include <array>
#include <bit>

#include "h5mount/base/text.h"
#include "h5mount/text/value_text.h"
#include "number_forms.h"
#include "zarr3_scalar.h"
#include "zarr_type_parts.h"

namespace h5mount::view {

namespace {

using format::Datatype;
using format::DatatypeClass;
using Kind = Zarr3Scalar::Kind;

// The number type that has the bits of an enumeration or a bitfield.
Datatype number_type(const Datatype& type) {
  Datatype out = type.cls == DatatypeClass::Enum ? *type.base : type;
  if (out.cls == DatatypeClass::Bitfield || out.cls == DatatypeClass::Opaque) {
    out.is_signed = out.cls == DatatypeClass::Opaque;  // NumPy's times
    out.cls = DatatypeClass::Integer;
    out.bit_precision = static_cast<std::uint16_t>(8 * out.size);
  }
  return out;
}

// The number in the form of 'Values as text': "-1", "0.5", "NaN".
Result<std::string> number_text(const Datatype& type, ByteSpan element) {
  std::string out;
  H5_TRY(text::append_json(number_type(type), element, {{}, Unbounded()}, out));
  return out;
}

Result<std::string> number_json(const Datatype& type, ByteSpan element) {
  H5_ASSIGN(std::string out, number_text(type, element));
  const bool finite = !out.empty() && (out.back() >= '0' && out.back() <= '9');
  return finite ? out : '"' + out + '"';
}

// The type of the real part, and of the imaginary part.
const Datatype& complex_part(const Datatype& type) {
  return type.cls == DatatypeClass::Complex ? *type.base : *type.members[0].type;
}

std::string bytes_json(ByteSpan bytes) {
  std::string out = "[";
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(out), "{}{}", out.size() > 1 ? "," : "",
                   std::to_integer<unsigned>(byte));
  return out + ']';
}

Result<std::string> scalar_json(const Datatype& type, const Zarr3Scalar& scalar, ByteSpan element) {
  switch (scalar.kind) {
    case Kind::Bool:
      return std::string(element[0] != std::byte{0} ? "true" : "false");
    case Kind::Signed:
    case Kind::Unsigned:
    case Kind::Float:
      return number_json(type, element);
    case Kind::Complex: {
      const Datatype& part = complex_part(type);
      H5_ASSIGN(const std::string real, number_json(part, element.first(part.size)));
      H5_ASSIGN(const std::string imaginary, number_json(part, element.subspan(part.size)));
      return fmt::format("[{},{}]", real, imaginary);
    }
    case Kind::String:
      element = std::as_bytes(std::span(text::fixed_string(type, element)));
      while (!element.empty() && element.back() == std::byte{0}) element = element.first(element.size() - 1);
      return base64(element);
    case Kind::Time: {
      Datatype number = number_type(type);
      number.order = scalar.big_endian ? format::ByteOrder::Big : format::ByteOrder::Little;
      return number_json(number, element);
    }
    case Kind::Raw:
      break;
  }
  return bytes_json(element);
}

Result<std::string> element_json(const Datatype& type, ByteSpan element) {
  H5_ASSIGN(const NumpyType numpy, numpy_type(type));
  if (!numpy.description.starts_with('[')) {
    H5_ASSIGN(const Zarr3Scalar scalar, zarr3_scalar(numpy));
    return scalar_json(type, scalar, element);
  }
  std::string out;
  for (const format::CompoundMember& member : type.members) {
    out += out.empty() ? '{' : ',';
    text::append_json_string(member.name, out);
    H5_ASSIGN(const std::string value,
              element_json(*member.type, element.subspan(member.offset, member.type->size)));
    out += ':' + value;
  }
  return out + '}';
}

// The JSON of a number of any type as one of the dataset's integer type, if it is an integer.
std::optional<std::string> integer_fill(const Zarr3Scalar& scalar, const std::string& text) {
  const auto bits = static_cast<unsigned>(8 * scalar.bytes);
  const bool is_signed = scalar.kind == Kind::Signed;
  if (const auto value = parse_whole<std::int64_t>(text)) {
    const std::int64_t top = *value >> (bits - 1);  // 0, or -1 if the number fits the signed type
    const bool fits = is_signed ? top == 0 || top == -1 : *value >= 0 && (bits == 64 || *value >> bits == 0);
    return fits ? std::optional(text) : std::nullopt;
  }
  if (parse_whole<std::uint64_t>(text)) return bits == 64 && !is_signed ? std::optional(text) : std::nullopt;
  constexpr double kMaxExact = 9'007'199'254'740'992;  // 2^53
  const auto real = parse_whole<double>(text);
  if (!real || !(*real >= -kMaxExact && *real <= kMaxExact)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*real);
  if (static_cast<double>(whole) != *real) return std::nullopt;
  return integer_fill(scalar, fmt::format("{}", whole));
}

std::optional<std::string> float_fill(const Datatype& type, ByteSpan element) {
  auto value = exact_double(type, element);
  if (const auto text = value ? Result<std::string>(std::string()) : number_text(type, element);
      text && !value)
    value = parse_whole<double>(*text);
  if (!value) return std::nullopt;
  return base64(std::bit_cast<std::array<std::byte, 8>>(*value));
}

std::optional<std::string> complex_fill(const Datatype& type, ByteSpan element) {
  const Datatype& part = complex_part(type);
  const auto first = float_fill(part, element.first(part.size));
  const auto second = float_fill(part, element.subspan(part.size));
  if (!first || !second) return std::nullopt;
  return fmt::format("[{},{}]", *first, *second);
}

std::optional<Zarr3Scalar> scalar_of(const Datatype& type) {
  const auto numpy = numpy_type(type);
  if (!numpy || numpy->description.starts_with('[')) return std::nullopt;
  auto scalar = zarr3_scalar(*numpy);
  if (!scalar) return std::nullopt;
  return *std::move(scalar);
}

bool is_number(const Datatype& type) {
  return type.cls == DatatypeClass::Integer || type.cls == DatatypeClass::Float ||
         type.cls == DatatypeClass::Enum;
}

}  // namespace

Result<std::string> zarr3_fill_value(const object::DatasetDescription& dataset,
                                     const text::ValueContext& values) {
  const Datatype* element_type = dataset.type.get();  // of an array datatype: that of its first item
  while (element_type->cls == DatatypeClass::Array) element_type = element_type->base.get();
  const Datatype& type = *element_type;
  const std::vector<std::byte> zeros(dataset.fill.value.size() < type.size ? type.size : 0);
  const ByteSpan element = zeros.empty() ? ByteSpan(dataset.fill.value).first(type.size) : ByteSpan(zeros);
  if (type.cls != DatatypeClass::VariableLength) return element_json(type, element);
  std::string text;
  if (zeros.empty() && !text::append_string(type, element, values, text)) text.clear();
  return text::json_string(text);
}

std::optional<std::string> version3_fill_attribute(const Datatype& dataset, const Datatype& type,
                                                   ByteSpan element) {
  const auto scalar = scalar_of(dataset);
  if (!scalar) return std::nullopt;
  if (scalar->kind == Kind::Complex) {
    const auto own = scalar_of(type);
    return own && own->kind == Kind::Complex ? complex_fill(type, element) : std::nullopt;
  }
  const auto text = is_number(type) ? number_text(type, element) : Result<std::string>(std::string());
  if (!text || text->empty()) return std::nullopt;
  if (scalar->kind == Kind::Float) return float_fill(type, element);
  if (scalar->kind != Kind::Signed && scalar->kind != Kind::Unsigned) return std::nullopt;
  return integer_fill(*scalar, *text);
}

}  // namespace h5mount::view
