#include "packed_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

#include "planner.h"

namespace h5mount::join {

namespace {

using meaning::NumberKind;
using meaning::Packing;

bool equal_factor(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || *a == *b || (std::isnan(*a) && std::isnan(*b)));
}

bool equal_digests(const MemberCard& a, const MemberCard& b, std::string_view name) {
  const auto find = [&](const MemberCard& card) -> std::optional<Digest> {
    const auto found = std::ranges::find(card.attributes, name, &CardAttribute::name);
    return found == card.attributes.end() ? std::nullopt : std::optional(found->value);
  };
  return find(a) == find(b);
}

}  // namespace

bool PackedValue::operator<(const PackedValue& other) const {
  return std::tie(is_nan, whole, real) < std::tie(other.is_nan, other.whole, other.real);
}

PackedValue packed_value(std::uint64_t bits, NumberKind kind) {
  if (meaning::is_integer(kind))
    return {.whole = kind < NumberKind::U8 ? Int128{static_cast<std::int64_t>(bits)} : Int128{bits}};
  const double number = std::bit_cast<double>(bits);
  if (std::isnan(number)) return {.is_nan = true};
  if (std::abs(number) < 0x1p100 && number == std::trunc(number))
    return {.whole = static_cast<Int128>(number)};
  return {.real = number};
}

double as_real(const PackedValue& value) {
  if (value.is_nan) return std::nan("");
  return value.real != 0 ? value.real : static_cast<double>(value.whole);
}

std::optional<std::uint64_t> bits_in(const PackedValue& value, NumberKind kind) {
  if (!meaning::is_integer(kind)) {
    const double number = as_real(value);
    const bool exact = value.is_nan || packed_value(std::bit_cast<std::uint64_t>(number), kind) == value;
    if (!exact || (kind == NumberKind::F32 && !value.is_nan &&
                   static_cast<double>(static_cast<float>(number)) != number))
      return std::nullopt;
    return std::bit_cast<std::uint64_t>(number);
  }
  if (value.is_nan || value.real != 0) return std::nullopt;
  const unsigned bits = 8 * meaning::bytes_of(kind);
  const bool is_signed = kind < NumberKind::U8;
  const Int128 end = Int128{1} << (is_signed ? bits - 1 : bits);
  if (value.whole >= end || value.whole < (is_signed ? -end : Int128{0})) return std::nullopt;
  return static_cast<std::uint64_t>(value.whole);
}

std::vector<std::byte> element_of(std::uint64_t bits, const format::Datatype& type) {
  if (type.cls == format::DatatypeClass::Float && type.size == 4)
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  std::vector<std::byte> out(std::min<std::size_t>(type.size, sizeof bits));
  std::memcpy(out.data(), &bits, out.size());
  if (type.order == format::ByteOrder::Big) std::ranges::reverse(out);
  return out;
}

std::vector<PackedValue> fill_set(const Packing& packing) {
  std::vector<PackedValue> out;
  for (const std::uint64_t bits : packing.fills) out.push_back(packed_value(bits, packing.read_as));
  std::ranges::sort(out, std::less<>());
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

bool equal_fills(const Packing& a, const Packing& b) {
  if (a.read_as == b.read_as && a.fills == b.fills) return true;
  auto one = fill_set(a), other = fill_set(b);
  std::erase_if(one, [](const PackedValue& value) { return value.is_nan; });
  std::erase_if(other, [](const PackedValue& value) { return value.is_nan; });
  return one == other;
}

bool equal_bounds(const Packing& a, const Packing& b) {
  const auto equal = [&](const std::optional<std::uint64_t>& x, const std::optional<std::uint64_t>& y) {
    return x.has_value() == y.has_value() &&
           (!x || packed_value(*x, a.read_as) == packed_value(*y, b.read_as));
  };
  return equal(a.least, b.least) && equal(a.most, b.most);
}

bool equal_signs(const Packing& a, const Packing& b) {
  const bool reads = a.read_as != a.stored.kind || b.read_as != b.stored.kind;
  return !reads || (a.read_as == b.read_as && a.stored.kind == b.stored.kind);
}

bool equal_packings(const MemberCard& a, const MemberCard& b) {
  if (&a == &b || (!a.packing && !b.packing)) return true;
  if (!a.packing || !b.packing) return false;
  if (!a.packing_sound || !b.packing_sound)
    for (const std::string_view name : {"add_offset", "scale_factor"})
      if (!equal_digests(a, b, name)) return false;
  const Packing& one = *a.packing;
  const Packing& other = *b.packing;
  return equal_factor(one.scale, other.scale) && equal_factor(one.offset, other.offset) &&
         equal_fills(one, other) && equal_bounds(one, other) && equal_signs(one, other);
}

bool equal_packing_attributes(const MemberCard& a, const MemberCard& b) {
  return std::ranges::all_of(kPackingAttributes,
                             [&](std::string_view name) { return equal_digests(a, b, name); });
}

bool is_packing_attribute(std::string_view name) {
  return std::ranges::find(kPackingAttributes, name) != kPackingAttributes.end();
}

}  // namespace h5mount::join
