#include "number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "big_number.h"
#include "h5mount/base/text.h"
#include "h5mount/text/shortest_float.h"

namespace h5mount::text {

namespace {

// The element's bytes in little-endian order. VAX order keeps the bytes of each 16-bit word and reverses the
// order of the words.
std::vector<std::byte> little_endian_bytes(ByteSpan element, format::ByteOrder order) {
  std::vector<std::byte> out(element.begin(), element.end());
  const std::size_t size = out.size();
  if (order == format::ByteOrder::Big) {
    for (std::size_t i = 0; i < size; ++i) out[i] = element[size - 1 - i];
  } else if (order == format::ByteOrder::Vax) {
    for (std::size_t i = 0; i + 1 < size; i += 2) {
      out[i] = element[size - 2 - i];
      out[i + 1] = element[size - 1 - i];
    }
  }
  return out;
}

// `count` bits from bit `first` on, as little-endian bytes; the caller keeps the range within `bytes`.
std::vector<std::byte> bit_range(ByteSpan bytes, std::size_t first, std::size_t count) {
  std::vector<std::byte> out((count + 7) / 8);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = first / 8 + i;
    unsigned value = std::to_integer<unsigned>(bytes[at]) >> first % 8;
    if (first % 8 != 0 && at + 1 < bytes.size())
      value |= std::to_integer<unsigned>(bytes[at + 1]) << (8 - first % 8);
    out[i] = static_cast<std::byte>(value);
  }
  if (count % 8 != 0) out.back() &= static_cast<std::byte>((1U << count % 8) - 1);
  return out;
}

// The limit for integers: the time grows with the square of the number of digits. The precision field has 16
// bits; only a type that states no precision can be wider.
constexpr std::uint32_t kWidestBytes = 8192;

template <class Number>
void append_number(Number value, std::string& out) {
  char buffer[48];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void append_small_integer(std::uint64_t value, unsigned precision, bool is_signed, std::string& out) {
  const unsigned unused = 64 - precision;
  value <<= unused;
  if (is_signed)
    append_number(static_cast<std::int64_t>(value) >> unused, out);
  else
    append_number(value >> unused, out);
}

void append_big_integer(ByteSpan bits, std::size_t precision, bool is_signed, std::string& out) {
  BigNumber number = BigNumber::from_little_endian(bits);
  if (is_signed && number.bit_width() == precision) {
    BigNumber modulus(1);
    modulus.shift_left(precision);
    modulus.subtract(number);
    out.push_back('-');
    number = std::move(modulus);
  }
  out += number.to_decimal();
}

template <class Float>
void append_native(Float value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char buffer[kFloatTextRoom];
  out.append(buffer, write_float(value, buffer));
}

// A finite number other than zero: mantissa * 2^exponent.
struct Binary {
  BigNumber mantissa;
  std::int64_t exponent = 0;
  bool narrow_below = false;  // the distance to the next smaller number is half that to the next greater one
};

struct Decimal {
  std::string digits;
  int point = 0;  // the number is 0.DIGITS * 10^point
};

// The shortest digits between the halfway points to the neighbours: Steele and White's free-format algorithm
// in the form of Burger and Dybvig (1996): number = r / s, half gaps = above / s, below / s.
Decimal shortest_decimal(const Binary& number) {
  BigNumber r = number.mantissa, s(2), above(1), below(1);
  const bool inclusive = !number.mantissa.is_odd();  // a reader rounds halves to even
  if (number.exponent >= 0) {
    const auto exponent = static_cast<std::size_t>(number.exponent);
    r.shift_left(exponent + 1);
    above.shift_left(exponent);
    below.shift_left(exponent);
  } else {
    r.shift_left(1);
    s.shift_left(static_cast<std::size_t>(-number.exponent));
  }
  if (number.narrow_below) {
    r.shift_left(1);
    s.shift_left(1);
    above.shift_left(1);
  }
  const double log2 =
      static_cast<double>(number.mantissa.bit_width()) - 1 + static_cast<double>(number.exponent);
  Decimal out{.digits = {}, .point = static_cast<int>(std::ceil(log2 * 0.30102999566398120 - 1e-9))};
  if (out.point >= 0) {
    s.multiply_by_power_of_ten(static_cast<std::uint32_t>(out.point));
  } else {
    const auto power = static_cast<std::uint32_t>(-out.point);
    r.multiply_by_power_of_ten(power);
    above.multiply_by_power_of_ten(power);
    below.multiply_by_power_of_ten(power);
  }
  const auto reaches_s = [&] {
    BigNumber sum = r;
    sum.add(above);
    return inclusive ? sum >= s : sum > s;
  };
  // The estimate may be one too small.
  if (reaches_s()) {
    ++out.point;
    s.multiply(10);
  }
  for (;;) {
    r.multiply(10);
    above.multiply(10);
    below.multiply(10);
    char digit = '0';
    for (; r >= s; ++digit) r.subtract(s);
    const bool low = inclusive ? r <= below : r < below;
    const bool high = reaches_s();
    if (!low && !high) {
      out.digits.push_back(digit);
      continue;
    }
    r.shift_left(1);
    if (high && (!low || r >= s)) ++digit;
    out.digits.push_back(digit);
    return out;
  }
}

// About the format of std::to_chars, and with an exponent where a whole number, which is too large to be
// written in full, would show more digits than it needs.
void append_decimal(const Decimal& decimal, std::string& out) {
  constexpr int kMaxPlainPlaces = 17, kMaxLeadingZeros = 4;
  const int digits = static_cast<int>(decimal.digits.size());
  if (decimal.point > 0 && decimal.point <= std::min(kMaxPlainPlaces, digits)) {
    if (digits == decimal.point) {
      out.append(decimal.digits).append(".0");
      return;
    }
    const auto point = static_cast<std::size_t>(decimal.point);
    out.append(decimal.digits, 0, point).push_back('.');
    out.append(decimal.digits, point, std::string::npos);
    return;
  }
  if (decimal.point <= 0 && -decimal.point < kMaxLeadingZeros) {
    out += "0.";
    out.append(static_cast<std::size_t>(-decimal.point), '0').append(decimal.digits);
    return;
  }
  out.push_back(decimal.digits[0]);
  if (digits > 1) out.append(".").append(decimal.digits, 1, std::string::npos);
  const int exponent = decimal.point - 1;
  out += exponent < 0 ? "e-" : "e+";
  if (exponent > -10 && exponent < 10) out.push_back('0');
  append_number(std::abs(exponent), out);
}

// The number, if it is whole and small enough to be written in full.
std::optional<std::uint64_t> number_in_full(Binary number) {
  constexpr std::int64_t kMaxBits = 54;
  const auto bits = [&] { return static_cast<std::int64_t>(number.mantissa.bit_width()); };
  if (bits() + number.exponent > kMaxBits || bits() + number.exponent <= 0) return std::nullopt;
  while (number.exponent < 0) {
    const std::int64_t shift = std::min<std::int64_t>(-number.exponent, 32);
    if (number.mantissa.divide(std::uint64_t{1} << shift) != 0) return std::nullopt;
    number.exponent += shift;
  }
  const std::uint64_t value = number.mantissa.low_bits() << number.exponent;
  return value <= kLargestInFull ? std::optional(value) : std::nullopt;
}

struct FloatParts {
  bool negative = false;
  std::uint64_t exponent = 0;
  BigNumber mantissa;
};

FloatParts take_apart(const format::Datatype& type, ByteSpan element) {
  const auto bytes = little_endian_bytes(element, type.order);
  const auto exponent = bit_range(bytes, type.exponent_location, type.exponent_size);
  return {.negative = std::to_integer<unsigned>(bit_range(bytes, type.sign_location, 1)[0]) != 0,
          .exponent = load_le_width(exponent.data(), exponent.size()),
          .mantissa =
              BigNumber::from_little_endian(bit_range(bytes, type.mantissa_location, type.mantissa_size))};
}

BigNumber power_of_two(std::size_t power) {
  BigNumber number(1);
  number.shift_left(power);
  return number;
}

// Returns "NaN", "Infinity" or an empty text.
std::string_view special_value(const format::Datatype& type, const FloatParts& parts) {
  if (type.order == format::ByteOrder::Vax) return parts.exponent == 0 && parts.negative ? "NaN" : "";
  if (parts.exponent != (std::uint64_t{1} << type.exponent_size) - 1) return "";
  // A format that stores its leading bit has that bit set in infinity.
  const bool leading_bit_only = type.normalization != format::MantissaNormalization::Implied &&
                                parts.mantissa == power_of_two(type.mantissa_size - 1U);
  return parts.mantissa.is_zero() || leading_bit_only ? "Infinity" : "NaN";
}

Binary to_binary(const format::Datatype& type, FloatParts parts) {
  const bool implied = type.normalization == format::MantissaNormalization::Implied;
  const BigNumber leading = power_of_two(implied ? type.mantissa_size : type.mantissa_size - 1U);
  const bool subnormal = parts.exponent == 0;
  if (implied && !subnormal) parts.mantissa.add(leading);
  Binary binary;
  binary.narrow_below = parts.exponent > 1 && parts.mantissa == leading;
  binary.exponent = static_cast<std::int64_t>(subnormal ? 1 : parts.exponent) -
                    std::int64_t{type.exponent_bias} - (std::int64_t{type.mantissa_size} - (implied ? 0 : 1));
  binary.mantissa = std::move(parts.mantissa);
  return binary;
}

void append_any_float(const format::Datatype& type, ByteSpan element, std::string& out) {
  constexpr std::int64_t kGreatestExponent = 100'000;
  FloatParts parts = take_apart(type, element);
  const std::string_view special = special_value(type, parts);
  if (parts.negative && special != "NaN") out.push_back('-');
  if (!special.empty()) {
    out += special;
    return;
  }
  const bool vax_zero = type.order == format::ByteOrder::Vax && parts.exponent == 0;
  const bool no_bits = parts.mantissa.is_zero() &&
                       (parts.exponent == 0 || type.normalization != format::MantissaNormalization::Implied);
  if (vax_zero || no_bits) {
    out += "0.0";
    return;
  }
  const bool negative = parts.negative;
  const Binary binary = to_binary(type, std::move(parts));
  if (const auto whole = number_in_full(binary)) {
    append_number(*whole, out);
    out += ".0";
    return;
  }
  if (std::abs(binary.exponent) <= kGreatestExponent) return append_decimal(shortest_decimal(binary), out);
  if (negative) out.pop_back();
  append_hex_string(element, out);
}

// Whether a format of IEEE with so many bits holds every number of the type.
bool is_within(const format::Datatype& type, unsigned exponent, unsigned mantissa) {
  const std::int64_t bias = (std::int64_t{1} << (exponent - 1)) - 1;
  const std::int64_t own_bias = type.exponent_bias;
  return type.mantissa_size <= mantissa && type.exponent_size > 0 && type.exponent_size <= exponent &&
         (std::int64_t{1} << type.exponent_size) - 2 - own_bias <= bias && own_bias <= bias;
}

}  // namespace

bool is_ieee(const format::Datatype& t, unsigned size, unsigned exponent, unsigned mantissa) {
  return t.size == size && t.order != format::ByteOrder::Vax && t.bit_offset == 0 &&
         t.exponent_size == exponent && t.mantissa_size == mantissa && t.mantissa_location == 0 &&
         t.exponent_location == mantissa && t.sign_location == 8 * size - 1 &&
         t.exponent_bias == (1U << (exponent - 1)) - 1 &&
         t.normalization == format::MantissaNormalization::Implied;
}

std::uint64_t stored_bits(const format::Datatype& type, const std::byte* element) {
  const std::uint64_t bits = load_le_width(element, type.size);
  return type.order == format::ByteOrder::Big ? __builtin_bswap64(bits) >> (64 - 8 * type.size) : bits;
}

std::optional<double> double_of(const format::Datatype& type, ByteSpan element) {
  const bool plain = type.size <= 8 && type.order != format::ByteOrder::Vax &&
                     type.normalization == format::MantissaNormalization::Implied;
  if (!plain || !is_within(type, 11, 52)) return std::nullopt;
  const auto field = [bits = stored_bits(type, element.data())](unsigned location, unsigned size) {
    return bits >> location & ((std::uint64_t{1} << size) - 1);
  };
  const std::uint64_t exponent = field(type.exponent_location, type.exponent_size);
  std::uint64_t mantissa = field(type.mantissa_location, type.mantissa_size);
  double value = std::numeric_limits<double>::infinity();
  if (exponent == (std::uint64_t{1} << type.exponent_size) - 1) {
    if (mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
  } else {
    if (exponent > 0) mantissa |= std::uint64_t{1} << type.mantissa_size;
    value = std::ldexp(static_cast<double>(mantissa), static_cast<int>(std::max<std::uint64_t>(exponent, 1)) -
                                                          static_cast<int>(type.exponent_bias) -
                                                          static_cast<int>(type.mantissa_size));
  }
  return field(type.sign_location, 1) != 0 ? -value : value;
}

long double long_double_of(const format::Datatype& type, ByteSpan element) {
  FloatParts parts = take_apart(type, element);
  const std::string_view special = special_value(type, parts);
  if (special == "NaN") return std::numeric_limits<long double>::quiet_NaN();
  const bool vax_zero = type.order == format::ByteOrder::Vax && parts.exponent == 0;
  const long double sign = parts.negative ? -1 : 1;
  if (!special.empty()) return sign * std::numeric_limits<long double>::infinity();
  if (vax_zero) return 0;
  constexpr int kTooLarge = 1 << 20;  // for any long double
  Binary binary = to_binary(type, std::move(parts));
  while (binary.mantissa.bit_width() > 64) {
    binary.mantissa.divide(2);
    ++binary.exponent;
  }
  return sign *
         std::ldexp(static_cast<long double>(binary.mantissa.low_bits()),
                    static_cast<int>(std::clamp<std::int64_t>(binary.exponent, -kTooLarge, kTooLarge)));
}

void append_integer(const format::Datatype& type, ByteSpan element, std::string& out) {
  const bool is_signed = type.is_signed || type.cls == format::DatatypeClass::Time;
  if (type.bit_precision == 0 && type.size > kWidestBytes) return append_hex_string(element, out);
  const unsigned precision = type.bit_precision == 0 ? 8 * type.size : type.bit_precision;
  if (type.size <= 8 && type.order != format::ByteOrder::Vax)
    return append_small_integer(stored_bits(type, element.data()) >> type.bit_offset, precision, is_signed,
                                out);
  const auto bits = bit_range(little_endian_bytes(element, type.order), type.bit_offset, precision);
  if (precision <= 64)
    return append_small_integer(load_le_width(bits.data(), bits.size()), precision, is_signed, out);
  append_big_integer(bits, precision, is_signed, out);
}

// The numbers are measured: the time of a conversion grows with the square of the number's bits.
std::uint64_t number_steps(const format::Datatype& type) {
  constexpr std::uint64_t kBitsSquaredPerStep = 1024;
  if (type.cls == format::DatatypeClass::Float) {
    constexpr unsigned kCommonExponent = 11, kWidestExponent = 18;
    if (type.exponent_size <= kCommonExponent && type.mantissa_size <= 64) return 0;
    const std::uint64_t bits =
        (std::uint64_t{1} << std::min<unsigned>(type.exponent_size, kWidestExponent)) / 2 +
        type.mantissa_size;
    return bits * bits / kBitsSquaredPerStep + bits * type.mantissa_size / 16;
  }
  const std::uint64_t bits = type.bit_precision == 0 ? 8 * std::uint64_t{type.size} : type.bit_precision;
  if (bits <= 64 || bits > 8 * std::uint64_t{kWidestBytes}) return 0;
  return bits * bits / kBitsSquaredPerStep;
}

void append_float(const format::Datatype& type, ByteSpan element, std::string& out) {
  if (is_ieee(type, 8, 11, 52))
    return append_native(std::bit_cast<double>(stored_bits(type, element.data())), out);
  if (is_ieee(type, 4, 8, 23))
    return append_native(std::bit_cast<float>(static_cast<std::uint32_t>(stored_bits(type, element.data()))),
                         out);
  append_any_float(type, element, out);
}

void append_common_float(const format::Datatype& type, ByteSpan element, std::string& out) {
  const auto value = double_of(type, element);
  if (!value) return append_float(type, element, out);
  if (type.size <= 4 && is_within(type, 8, 23)) return append_native(static_cast<float>(*value), out);
  append_native(*value, out);
}

void append_hex_string(ByteSpan bytes, std::string& out) {
  out += "\"0x" + to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + '"';
}

}  // namespace h5mount::text
