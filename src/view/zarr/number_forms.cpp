#include "number_forms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "h5mount/text/value_text.h"

namespace h5mount::view {

namespace {

// IEEE 754-2008, 3.4: a sign, 5 bits of exponent, 10 of fraction.
double half(std::uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 0x1F);
  const double fraction = bits & 0x3FF;
  if (exponent == 0x1F)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

}  // namespace

std::string base64(ByteSpan bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "\"";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j) out += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return out + '"';
}

std::optional<double> exact_double(const format::Datatype& type, ByteSpan element) {
  if (type.cls != format::DatatypeClass::Float || (type.size != 2 && type.size != 4) ||
      element.size() < type.size)
    return std::nullopt;
  const std::string name = text::datatype_text(type);
  if (name.size() != 3 || name[1] != 'f') return std::nullopt;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < type.size; ++i)
    bits |= std::to_integer<std::uint32_t>(element[name[0] == '>' ? type.size - 1 - i : i]) << (8 * i);
  return type.size == 2 ? half(bits) : double{std::bit_cast<float>(bits)};
}

format::DatatypePtr double_type() {
  static const format::DatatypePtr type = [] {
    auto out = std::make_shared<format::Datatype>();
    out->cls = format::DatatypeClass::Float;
    out->size = 8;
    out->order = std::endian::native == std::endian::big ? format::ByteOrder::Big : format::ByteOrder::Little;
    out->bit_precision = 64;
    out->normalization = format::MantissaNormalization::Implied;
    out->sign_location = 63;
    out->exponent_location = out->mantissa_size = 52;
    out->exponent_size = 11;
    out->exponent_bias = 1023;
    return out;
  }();
  return type;
}

}  // namespace h5mount::view
