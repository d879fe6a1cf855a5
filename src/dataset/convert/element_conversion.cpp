#include "element_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace h5mount::dataset {
namespace {

__extension__ using Wide = __int128;  // holds every integer of up to 64 bits, signed or not
__extension__ using WideBits = unsigned __int128;
using Real = long double;

bool integer_like(const format::Datatype& t) {
  return (t.cls == format::DatatypeClass::Integer || t.cls == format::DatatypeClass::Enum) && t.size <= 8;
}
const format::Datatype& number_of(const format::Datatype& t) {
  return t.cls == format::DatatypeClass::Enum && t.base ? *t.base : t;
}
// Whether `t` is x86's extended format, of which the leading bit is stored. It is only converted to other
// formats, not from them.
bool extended_float(const format::Datatype& t) {
  return t.cls == format::DatatypeClass::Float && t.order != format::ByteOrder::Vax && t.size <= 16 &&
         t.exponent_size == 15 && t.mantissa_size == 64 && t.mantissa_location == 0 &&
         t.normalization != format::MantissaNormalization::Implied;
}
bool double_fits(const format::Datatype& t) {
  return t.cls == format::DatatypeClass::Float && t.order != format::ByteOrder::Vax && t.size <= 16 &&
         t.mantissa_size <= 52 && t.exponent_size <= 11 && t.exponent_size > 0;
}
bool plain_float(const format::Datatype& t) {
  return t.size <= 8 && double_fits(t);
}
// Such a float in more bytes than it needs is converted to others only.
bool wide_float(const format::Datatype& t) {
  return t.size > 8 && double_fits(t);
}

template <class Bits = std::uint64_t>
Bits load_bits(const format::Datatype& t, const std::byte* at) {
  Bits bits = 0;
  for (std::size_t i = 0; i < t.size; ++i) {
    const std::size_t k = t.order == format::ByteOrder::Big ? i : t.size - 1 - i;
    bits = bits << 8 | std::to_integer<std::uint8_t>(at[k]);
  }
  return bits;
}

void store_bits(const format::Datatype& t, std::uint64_t bits, std::byte* at) {
  for (std::size_t i = 0; i < t.size; ++i) {
    const std::size_t k = t.order == format::ByteOrder::Big ? t.size - 1 - i : i;
    at[k] = static_cast<std::byte>(bits >> (8 * i) & 0xFF);
  }
}

template <class Bits>
void swap_each(std::size_t count, const std::byte* in, std::byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const Bits bits = load_be<Bits>(in + i * sizeof(Bits));
    std::memcpy(out + i * sizeof bits, &bits, sizeof bits);
  }
}

// Returns false for sizes that no instruction swaps.
bool swap_all(std::size_t count, std::size_t size, const std::byte* in, std::byte* out) {
  if (size == 2)
    swap_each<std::uint16_t>(count, in, out);
  else if (size == 4)
    swap_each<std::uint32_t>(count, in, out);
  else if (size == 8)
    swap_each<std::uint64_t>(count, in, out);
  return size == 2 || size == 4 || size == 8;
}

std::uint64_t mask_of(unsigned bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

Wide load_integer(const format::Datatype& t, const std::byte* at) {
  const std::uint64_t bits = load_bits(t, at) >> t.bit_offset & mask_of(t.bit_precision);
  if (t.is_signed && t.bit_precision > 0 && (bits >> (t.bit_precision - 1) & 1) != 0)
    return static_cast<Wide>(bits) - (static_cast<Wide>(1) << t.bit_precision);
  return static_cast<Wide>(bits);
}

void store_integer(const format::Datatype& t, Wide value, std::byte* at) {
  const unsigned p = t.bit_precision;
  const Wide low = t.is_signed ? -(static_cast<Wide>(1) << (p - 1)) : 0;
  const Wide high = (static_cast<Wide>(1) << (t.is_signed ? p - 1 : p)) - 1;
  const auto bits = static_cast<std::uint64_t>(std::clamp(value, low, high)) & mask_of(p);
  store_bits(t, bits << t.bit_offset, at);
}

template <class Bits = std::uint64_t>
Real load_real(const format::Datatype& t, const std::byte* at) {
  const auto bits = load_bits<Bits>(t, at);
  const bool negative = static_cast<std::uint64_t>(bits >> t.sign_location & 1) != 0;
  const auto exponent = static_cast<std::uint64_t>(bits >> t.exponent_location) & mask_of(t.exponent_size);
  const auto mantissa = static_cast<std::uint64_t>(bits >> t.mantissa_location) & mask_of(t.mantissa_size);
  const Real fraction = std::ldexp(static_cast<Real>(mantissa), -static_cast<int>(t.mantissa_size));
  const int bias = static_cast<int>(t.exponent_bias);
  Real value = 0;
  if (exponent == mask_of(t.exponent_size))
    value = mantissa == 0 ? std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::quiet_NaN();
  else if (t.normalization == format::MantissaNormalization::Implied)
    value = exponent == 0 ? std::ldexp(fraction, 1 - bias)
                          : std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
  else
    value = std::ldexp(fraction, static_cast<int>(exponent) - bias);
  return negative ? -value : value;
}

Real load_extended(const format::Datatype& t, const std::byte* at) {
  const auto bits = load_bits<WideBits>(t, at);
  const bool negative = (static_cast<std::uint64_t>(bits >> t.sign_location) & 1) != 0;
  const auto exponent = static_cast<std::uint64_t>(bits >> t.exponent_location) & mask_of(t.exponent_size);
  const auto mantissa = static_cast<std::uint64_t>(bits);
  Real value = std::ldexp(static_cast<Real>(mantissa),
                          static_cast<int>(exponent) - static_cast<int>(t.exponent_bias) - 63);
  if (exponent == mask_of(t.exponent_size))
    value =
        mantissa << 1 == 0 ? std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::quiet_NaN();
  return negative ? -value : value;
}

void store_real(const format::Datatype& t, Real value, std::byte* at) {
  // IEEE formats of these two sizes are converted by the processor, which rounds to nearest even; others are
  // converted below.
  if (t.size == 8 && t.mantissa_size == 52)
    return store_bits(t, std::bit_cast<std::uint64_t>(static_cast<double>(value)), at);
  if (t.size == 4 && t.mantissa_size == 23)
    return store_bits(t, std::bit_cast<std::uint32_t>(static_cast<float>(value)), at);
  std::uint64_t exponent = 0, mantissa = 0;
  const int bias = static_cast<int>(t.exponent_bias);
  const Real magnitude = std::fabs(value);
  const std::uint64_t top = mask_of(t.exponent_size);
  if (std::isnan(value)) {
    exponent = top, mantissa = std::uint64_t{1} << (t.mantissa_size - 1);
  } else if (std::isinf(value)) {
    exponent = top;
  } else if (magnitude > 0) {
    int e = 0;
    const Real m = std::frexp(magnitude, &e);  // [0.5, 1)
    int stored = e - 1 + bias;
    const Real scaled = stored >= 1 ? std::ldexp(m * 2 - 1, t.mantissa_size)
                                    : std::ldexp(magnitude, t.mantissa_size + bias - 1);
    mantissa = static_cast<std::uint64_t>(std::nearbyint(scaled));
    stored = std::max(stored, 0);
    if (mantissa >> t.mantissa_size != 0) mantissa = 0, ++stored;
    exponent = static_cast<std::uint64_t>(stored);
    if (exponent >= top) exponent = top, mantissa = 0;
  }
  store_bits(t,
             (std::signbit(value) ? std::uint64_t{1} << t.sign_location : 0) |
                 exponent << t.exponent_location | mantissa << t.mantissa_location,
             at);
}

Wide real_to_integer(Real value) {
  constexpr Real kBound = 36893488147419103232.0L;  // 2^65: beyond any target's range
  if (std::isnan(value)) return 0;
  return static_cast<Wide>(std::clamp(value, -kBound, kBound));
}

// The lower bits, as many as both have, and the target's padding around them.
void convert_bits(const format::Datatype& f, const format::Datatype& t, const std::byte* in, std::byte* out) {
  std::uint64_t bits =
      (load_bits(f, in) >> f.bit_offset & mask_of(f.bit_precision) & mask_of(t.bit_precision))
      << t.bit_offset;
  if (t.low_pad) bits |= mask_of(t.bit_offset);
  if (t.high_pad) bits |= ~mask_of(unsigned{t.bit_offset} + t.bit_precision) & mask_of(8 * t.size);
  store_bits(t, bits, out);
}

// Whether two floats have their parts at the same places.
bool same_float(const format::Datatype& f, const format::Datatype& t) {
  return f.sign_location == t.sign_location && f.exponent_location == t.exponent_location &&
         f.exponent_size == t.exponent_size && f.mantissa_location == t.mantissa_location &&
         f.mantissa_size == t.mantissa_size && f.exponent_bias == t.exponent_bias &&
         f.normalization == t.normalization;
}

bool same_bits(const format::Datatype& f, const format::Datatype& t) {
  return f.bit_precision == t.bit_precision && f.low_pad == t.low_pad && f.high_pad == t.high_pad;
}

bool bit_field(const format::Datatype& t) {
  return t.cls == format::DatatypeClass::Bitfield && t.size <= 8 && t.order != format::ByteOrder::Vax;
}

// Whether the types have the same size, no offset, and opposite byte orders: libhdf5 then swaps the bytes,
// whatever sign and precision are; those of floats only if all other properties are equal.
bool differ_by_order(const format::Datatype& f, const format::Datatype& t) {
  const bool opposite = (f.order == format::ByteOrder::Little && t.order == format::ByteOrder::Big) ||
                        (f.order == format::ByteOrder::Big && t.order == format::ByteOrder::Little);
  if (!opposite || f.cls != t.cls || f.size != t.size || f.bit_offset != 0 || t.bit_offset != 0) return false;
  if (f.cls == format::DatatypeClass::Bitfield) return same_bits(f, t);
  return f.cls != format::DatatypeClass::Float || same_float(f, t);
}

bool is_nan(const format::Datatype& t, std::uint64_t bits) {
  return (bits >> t.exponent_location & mask_of(t.exponent_size)) == mask_of(t.exponent_size) &&
         (bits >> t.mantissa_location & mask_of(t.mantissa_size)) != 0;
}

// Whether the processor has the format, so that libhdf5 leaves its conversion to the processor.
bool is_native(const format::Datatype& t) {
  return t.order == format::ByteOrder::Little && t.bit_offset == 0 &&
         ((t.size == 4 && t.mantissa_size == 23) || (t.size == 8 && t.mantissa_size == 52));
}

// Converts a NaN as libhdf5 does: the processor keeps the upper bits of the payload and makes the NaN quiet;
// libhdf5's own conversion sets all bits of it.
void convert_nan(const format::Datatype& f, const format::Datatype& t, std::uint64_t bits, std::byte* out) {
  const std::uint64_t sign = bits >> f.sign_location & 1;
  std::uint64_t mantissa = mask_of(t.mantissa_size);
  if (is_native(f) && is_native(t)) {
    const std::uint64_t payload = bits >> f.mantissa_location & mask_of(f.mantissa_size);
    mantissa = f.mantissa_size > t.mantissa_size ? payload >> (f.mantissa_size - t.mantissa_size)
                                                 : payload << (t.mantissa_size - f.mantissa_size);
    mantissa |= std::uint64_t{1} << (t.mantissa_size - 1);
  }
  store_bits(t,
             sign << t.sign_location | mask_of(t.exponent_size) << t.exponent_location |
                 mantissa << t.mantissa_location,
             out);
}

void convert_float(const format::Datatype& f, const format::Datatype& t, const std::byte* in,
                   std::byte* out) {
  const std::uint64_t bits = load_bits(f, in);
  if (is_nan(f, bits))
    convert_nan(f, t, bits, out);
  else
    store_real(t, load_real(f, in), out);
}

void convert_string(const format::Datatype& from, const format::Datatype& to, const std::byte* in,
                    std::byte* out) {
  std::size_t length = 0;
  while (length < from.size &&
         (from.padding == format::StringPadding::SpacePad || in[length] != std::byte{0}))
    ++length;
  if (from.padding == format::StringPadding::SpacePad)
    while (length > 0 && in[length - 1] == std::byte{' '}) --length;
  const std::size_t room = to.padding == format::StringPadding::NullTerminate ? to.size - 1 : to.size;
  length = std::min(length, room);
  std::copy_n(in, length, out);
  std::fill(out + length, out + to.size,
            to.padding == format::StringPadding::SpacePad ? std::byte{' '} : std::byte{0});
}

}  // namespace

bool same_datatype(const format::Datatype& a, const format::Datatype& b) {
  if (&a == &b) return true;
  if (a.cls != b.cls || a.size != b.size || a.members.size() != b.members.size() || a.dims != b.dims ||
      (a.base == nullptr) != (b.base == nullptr) || a.variable_string != b.variable_string)
    return false;
  if (a.base && !same_datatype(*a.base, *b.base)) return false;
  for (std::size_t i = 0; i < a.members.size(); ++i)
    if (a.members[i].offset != b.members[i].offset || a.members[i].name != b.members[i].name ||
        !same_datatype(*a.members[i].type, *b.members[i].type))
      return false;
  switch (a.cls) {
    case format::DatatypeClass::Integer:
    case format::DatatypeClass::Bitfield:
    case format::DatatypeClass::Time:
      return (a.size == 1 || a.order == b.order) && a.bit_offset == b.bit_offset &&
             a.bit_precision == b.bit_precision && a.is_signed == b.is_signed;
    case format::DatatypeClass::Float:
      return a.order == b.order && a.bit_offset == b.bit_offset && a.bit_precision == b.bit_precision &&
             same_float(a, b);
    case format::DatatypeClass::String:
      return a.padding == b.padding;
    case format::DatatypeClass::Enum:
      return std::ranges::equal(a.enum_members, b.enum_members,
                                [](const format::EnumMember& x, const format::EnumMember& y) {
                                  return x.name == y.name && x.value == y.value;
                                });
    case format::DatatypeClass::Reference:
      return a.reference == b.reference;
    default:
      return true;
  }
}

std::optional<ElementConversion> ElementConversion::make(format::DatatypePtr from, format::DatatypePtr to) {
  if (same_datatype(*from, *to)) return ElementConversion(std::move(from), std::move(to), true);
  const auto number = [](const format::Datatype& t) { return integer_like(t) || plain_float(t); };
  if ((extended_float(*from) || wide_float(*from)) && plain_float(*to))
    return ElementConversion(std::move(from), std::move(to), false);
  const bool strings = from->cls == format::DatatypeClass::String && to->cls == format::DatatypeClass::String;
  const bool bits = bit_field(*from) && bit_field(*to);
  if (!strings && !bits && !(number(*from) && number(*to))) return std::nullopt;
  ElementConversion out(std::move(from), std::move(to), false);
  if (out.from_->cls != format::DatatypeClass::Enum || out.to_->cls != format::DatatypeClass::Enum)
    return out;
  auto members = match_members(*out.from_, *out.to_);
  if (!members) return std::nullopt;
  out.members_ = *std::move(members);
  return out;
}

std::optional<ElementConversion::MemberValues> ElementConversion::match_members(const format::Datatype& from,
                                                                                const format::Datatype& to) {
  std::unordered_map<std::string_view, std::string_view> by_name;
  for (const format::EnumMember& member : to.enum_members)
    by_name.emplace(member.name, as_text(member.value));
  MemberValues out;
  for (const format::EnumMember& member : from.enum_members) {
    const auto found = by_name.find(member.name);
    if (found == by_name.end()) return std::nullopt;
    out.emplace_back(as_text(member.value), found->second);
  }
  std::ranges::sort(out);
  return out;
}

void ElementConversion::convert_enum(std::size_t count, ByteSpan from, MutableByteSpan to) const {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view value = as_text(from.subspan(i * from_->size, from_->size));
    const MutableByteSpan out = to.subspan(i * to_->size, to_->size);
    const auto found = std::ranges::lower_bound(members_, value, {}, &MemberValues::value_type::first);
    if (found != members_.end() && found->first == value)
      std::ranges::copy(as_bytes(found->second), out.begin());
    else
      std::ranges::fill(out, std::byte{0xFF});
  }
}

void ElementConversion::convert(std::size_t count, ByteSpan from, MutableByteSpan to) const {
  if (identity_) {
    std::copy_n(from.begin(), count * from_->size, to.begin());
    return;
  }
  const bool enums = from_->cls == format::DatatypeClass::Enum && to_->cls == format::DatatypeClass::Enum;
  if (enums) return convert_enum(count, from, to);
  const format::Datatype& f = number_of(*from_);
  const format::Datatype& t = number_of(*to_);
  const bool swap = f.cls != format::DatatypeClass::String && differ_by_order(f, t);
  const std::byte* in = from.data();
  std::byte* out = to.data();
  if (swap && swap_all(count, f.size, in, out)) return;
  const bool extended = extended_float(f), wide = wide_float(f);
  for (std::size_t i = 0; i < count; ++i, in += f.size, out += t.size) {
    if (swap)
      store_bits(t, load_bits(f, in), out);
    else if (extended)
      store_real(t, load_extended(f, in), out);
    else if (wide)
      store_real(t, load_real<WideBits>(f, in), out);
    else if (f.cls == format::DatatypeClass::String)
      convert_string(f, t, in, out);
    else if (f.cls == format::DatatypeClass::Bitfield)
      convert_bits(f, t, in, out);
    else if (f.cls == format::DatatypeClass::Integer && t.cls == format::DatatypeClass::Integer)
      store_integer(t, load_integer(f, in), out);
    else if (f.cls == format::DatatypeClass::Integer)
      store_real(t, static_cast<Real>(load_integer(f, in)), out);
    else if (t.cls == format::DatatypeClass::Integer)
      store_integer(t, real_to_integer(load_real(f, in)), out);
    else
      convert_float(f, t, in, out);
  }
}

}  // namespace h5mount::dataset
