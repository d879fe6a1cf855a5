// The numbers that packing attributes hold, compared by value whatever their types. Pure; threads: any.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "h5mount/join/card.h"

namespace h5mount::join {

inline constexpr std::array<std::string_view, 8> kPackingAttributes = {
    "_FillValue",   "_Unsigned", "add_offset", "missing_value",
    "scale_factor", "valid_max", "valid_min",  "valid_range"};

// A number: a whole one, or what a double has besides.
struct PackedValue {
  bool is_nan = false;
  __extension__ __int128 whole = 0;
  double real = 0;  // if it is not whole
  bool operator==(const PackedValue&) const = default;
  bool operator<(const PackedValue& other) const;
};
// Of bits as meaning::AttributeNumbers has them.
PackedValue packed_value(std::uint64_t bits, meaning::NumberKind kind);
double as_real(const PackedValue& value);
// The bits in a kind; nullopt: it does not have the number.
std::optional<std::uint64_t> bits_in(const PackedValue& value, meaning::NumberKind kind);
// The element of a type of numbers.
std::vector<std::byte> element_of(std::uint64_t bits, const format::Datatype& type);

// The fills, each once, ascending.
std::vector<PackedValue> fill_set(const meaning::Packing& packing);
// NaN is missing, whatever is said of it.
bool equal_fills(const meaning::Packing& a, const meaning::Packing& b);
bool equal_bounds(const meaning::Packing& a, const meaning::Packing& b);
// Whether raw numbers of both can stand side by side, as for what sign they are read with.
bool equal_signs(const meaning::Packing& a, const meaning::Packing& b);
// Whether the attributes are the same, type and value.
bool equal_packing_attributes(const MemberCard& a, const MemberCard& b);

}  // namespace h5mount::join
