// Numbers: a block of each side is brought into a form that processors have, and then compared in one loop.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "element_node.h"

namespace h5mount::front {
namespace {

using format::ByteOrder;
using format::Datatype;
using format::DatatypeClass;

// Whether all bytes mean the same number.
bool same_number_format(const Datatype& a, const Datatype& b) {
  return (a.order == b.order || a.size == 1) && a.bit_offset == b.bit_offset &&
         a.bit_precision == b.bit_precision && a.is_signed == b.is_signed &&
         a.normalization == b.normalization && a.sign_location == b.sign_location &&
         a.exponent_location == b.exponent_location && a.exponent_size == b.exponent_size &&
         a.mantissa_location == b.mantissa_location && a.mantissa_size == b.mantissa_size &&
         a.exponent_bias == b.exponent_bias;
}

// ---- one block of numbers as processors have them

template <class Number>
using LoadNumbers = void (*)(const Datatype& type, Strided from, std::span<Number> out);

template <class Number>
void load_native(const Datatype&, Strided from, std::span<Number> out) {
  if (from.step == sizeof(Number))
    std::memcpy(out.data(), from.at, out.size_bytes());
  else
    for (std::size_t i = 0; i < out.size(); ++i)
      std::memcpy(&out[i], from.at + i * from.step, sizeof(Number));
}

template <class Number>
void load_swapped(const Datatype&, Strided from, std::span<Number> out) {
  using Bits = std::conditional_t<
      sizeof(Number) == 8, std::uint64_t,
      std::conditional_t<sizeof(Number) == 4, std::uint32_t,
                         std::conditional_t<sizeof(Number) == 2, std::uint16_t, std::uint8_t>>>;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::bit_cast<Number>(load_be<Bits>(from.at + i * from.step));
}

// Integers of any precision up to 64 bits.
template <class Number>
void load_bits(const Datatype& type, Strided from, std::span<Number> out) {
  const unsigned unused = 64U - (type.bit_precision == 0 ? 8 * type.size : type.bit_precision);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t bits = text::stored_bits(type, from.at + i * from.step) >> type.bit_offset << unused;
    out[i] = static_cast<Number>(bits) >> unused;
  }
}

void load_doubles(const Datatype& type, Strided from, std::span<double> out) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = text::double_of(type, from.element(i, type.size)).value_or(0);
}

void load_wide(const Datatype& type, Strided from, std::span<long double> out) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = text::long_double_of(type, from.element(i, type.size));
}

// ---- the comparison of two numbers

template <class Number>
bool equal_exactly(Number a, Number b) {
  if constexpr (std::is_floating_point_v<Number>)
    return (a == b) | ((a != a) & (b != b));
  else
    return a == b;
}

// The bound of the tolerance is computed in double precision, as NumPy does.
template <class Number>
bool equal_within(Number a, Number b, const Tolerance& tolerance) {
  if constexpr (std::is_floating_point_v<Number>) {
    using Real = std::conditional_t<sizeof(Number) <= sizeof(double), double, Number>;
    const Real distance = std::fabs(static_cast<Real>(a) - static_cast<Real>(b));
    const Real bound = tolerance.relative * std::fabs(static_cast<Real>(a));
    return equal_exactly(a, b) | (distance <= tolerance.absolute) |
           ((distance <= bound) & (distance <= std::numeric_limits<Real>::max()));
  } else {
    using Bits = std::make_unsigned_t<Number>;
    const auto low = static_cast<Bits>(std::min(a, b)), high = static_cast<Bits>(std::max(a, b));
    const std::uint64_t distance = static_cast<Bits>(high - low);
    const double magnitude = std::fabs(static_cast<double>(a));
    const double bound = std::max(tolerance.absolute, tolerance.relative * magnitude);
    return distance == 0 || bound >= 0x1p64 || distance <= static_cast<std::uint64_t>(bound);
  }
}

template <class Number>
class NumberNode final : public ElementNode {
 public:
  NumberNode(const Datatype& a, const Datatype& b, LoadNumbers<Number> load_a, LoadNumbers<Number> load_b,
             const Tolerance& tolerance)
      : ElementNode(same_number_format(a, b)),
        a_(a),
        b_(b),
        load_a_(load_a),
        load_b_(load_b),
        tolerance_(tolerance) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    constexpr std::uint64_t kSteps = 32;
    H5_TRY(work.a.budget.spend(kSteps + marks.size()));
    Number x[kBlockElements], y[kBlockElements];
    load_a_(a_, a, std::span(x, marks.size()));
    load_b_(b_, b, std::span(y, marks.size()));
    if (tolerance_.none())
      for (std::size_t i = 0; i < marks.size(); ++i)
        marks[i] |= static_cast<std::uint8_t>(!equal_exactly(x[i], y[i]));
    else
      for (std::size_t i = 0; i < marks.size(); ++i)
        marks[i] |= static_cast<std::uint8_t>(!equal_within(x[i], y[i], tolerance_));
    return {};
  }

 private:
  const Datatype &a_, &b_;
  const LoadNumbers<Number> load_a_, load_b_;
  const Tolerance tolerance_;
};

// Whether the bytes, in one of the usual orders, are all of the number.
bool is_whole(const Datatype& type) {
  return type.bit_offset == 0 && (type.bit_precision == 8 * type.size || type.bit_precision == 0) &&
         std::has_single_bit(type.size) && type.size <= 8;
}

template <class Number>
LoadNumbers<Number> loader_of(const Datatype& type) {
  return type.order == ByteOrder::Big && type.size > 1 ? load_swapped<Number> : load_native<Number>;
}

template <class Number>
ElementNodePtr make_native(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  return std::make_unique<NumberNode<Number>>(a, b, loader_of<Number>(a), loader_of<Number>(b), tolerance);
}

template <class Number>
ElementNodePtr make_integer(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  using Wide = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
  if (is_whole(a) && is_whole(b)) return make_native<Number>(a, b, tolerance);
  return std::make_unique<NumberNode<Wide>>(a, b, load_bits<Wide>, load_bits<Wide>, tolerance);
}

// Integers of more than 64 bits, or in the order of VAX; floats with more bits than long doubles have.
class LongNumberNode final : public ElementNode {
 public:
  LongNumberNode(const Datatype& a, const Datatype& b, const Tolerance& tolerance)
      : ElementNode(same_number_format(a, b)), a_(a), b_(b), tolerance_(tolerance) {}

  Status mark(Strided a, Strided b, std::span<std::uint8_t> marks,
              ElementComparison::Work& work) const override {
    constexpr std::uint64_t kSteps = 512;
    std::string of_a, of_b;
    return mark_each(marks, work, [&](std::size_t i) -> Result<bool> {
      of_a.clear();
      of_b.clear();
      H5_TRY(work.a.budget.spend(kSteps));
      H5_TRY(text::append_json(a_, a.element(i, a_.size), work.a, of_a));
      H5_TRY(text::append_json(b_, b.element(i, b_.size), work.b, of_b));
      if (of_a == of_b || of_a.starts_with('"') || of_b.starts_with('"')) return of_a == of_b;
      const long double x = std::strtold(of_a.c_str(), nullptr), y = std::strtold(of_b.c_str(), nullptr);
      return (x == 0 && y == 0) || (!tolerance_.none() && equal_within(x, y, tolerance_));
    });
  }

 private:
  const Datatype &a_, &b_;
  const Tolerance tolerance_;
};

ElementNodePtr make_integer_of(const Datatype& a, const Datatype& b, bool is_signed,
                               const Tolerance& tolerance) {
  if (a.size > 8 || a.order == ByteOrder::Vax || b.order == ByteOrder::Vax)
    return std::make_unique<LongNumberNode>(a, b, tolerance);
  if (a.size == 1)
    return is_signed ? make_integer<std::int8_t>(a, b, tolerance)
                     : make_integer<std::uint8_t>(a, b, tolerance);
  if (a.size == 2)
    return is_signed ? make_integer<std::int16_t>(a, b, tolerance)
                     : make_integer<std::uint16_t>(a, b, tolerance);
  if (a.size == 4)
    return is_signed ? make_integer<std::int32_t>(a, b, tolerance)
                     : make_integer<std::uint32_t>(a, b, tolerance);
  return is_signed ? make_integer<std::int64_t>(a, b, tolerance)
                   : make_integer<std::uint64_t>(a, b, tolerance);
}

bool is_binary32(const Datatype& type) {
  return text::is_ieee(type, 4, 8, 23);
}
bool is_binary64(const Datatype& type) {
  return text::is_ieee(type, 8, 11, 52);
}

// Whether doubles hold all numbers of the format.
bool fits_double(const Datatype& type) {
  const std::vector<std::byte> zero(type.size);
  return text::double_of(type, zero).has_value();
}

ElementNodePtr make_float(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  if (is_binary64(a) && is_binary64(b)) return make_native<double>(a, b, tolerance);
  if (is_binary32(a) && is_binary32(b)) return make_native<float>(a, b, tolerance);
  if (fits_double(a) && fits_double(b))
    return std::make_unique<NumberNode<double>>(a, b, load_doubles, load_doubles, tolerance);
  if (std::max(a.mantissa_size, b.mantissa_size) > std::numeric_limits<long double>::digits)
    return std::make_unique<LongNumberNode>(a, b, tolerance);
  return std::make_unique<NumberNode<long double>>(a, b, load_wide, load_wide, tolerance);
}

}  // namespace

ElementNodePtr make_number_node(const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  if (a.size != b.size || a.is_signed != b.is_signed) return nullptr;
  switch (a.cls) {
    case DatatypeClass::Float:
      return make_float(a, b, tolerance);
    case DatatypeClass::Time:
      return make_integer_of(a, b, true, tolerance);
    case DatatypeClass::Bitfield:
      return make_integer_of(a, b, false, Tolerance());
    default:
      return make_integer_of(a, b, a.is_signed, tolerance);
  }
}

}  // namespace h5mount::front
