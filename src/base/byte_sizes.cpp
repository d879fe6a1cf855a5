#include <optional>

#include "h5mount/base/checked.h"
#include "h5mount/base/text.h"

namespace h5mount {
namespace {

using Text = std::string_view;

std::optional<std::uint64_t> parse_unit(Text text) {
  static constexpr Text kUnits = "KMGT";
  if (text.empty()) return 1;
  const auto power = kUnits.find(static_cast<char>(text.front() & ~0x20));
  if (power == Text::npos) return std::nullopt;
  const Text ending = text.substr(1);
  const bool decimal = ending == "B" || ending == "b";
  if (!decimal && !ending.empty() && ending != "iB" && ending != "ib") return std::nullopt;
  std::uint64_t unit = 1;
  for (std::size_t i = 0; i <= power; ++i) unit *= decimal ? 1000 : 1024;
  return unit;
}

// The digits after the point, as a fraction of `unit`.
std::optional<std::uint64_t> parse_fraction(Text digits, std::uint64_t unit) {
  constexpr std::size_t kMaxDigits = 6;  // so that digits times unit fit in 64 bits
  const auto number = parse_whole<std::uint64_t>(digits);
  if (!number || digits.size() > kMaxDigits || unit == 1) return std::nullopt;
  std::uint64_t scale = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
  return *number * unit / scale;
}

}  // namespace

// As in coreutils K and KiB are 1024, KB is 1000; a fraction needs a unit.
std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::size_t unit_at = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = parse_unit(text.substr(unit_at));
  const std::string_view number = text.substr(0, unit_at);
  const std::size_t point = number.find('.');
  const auto whole = parse_whole<std::uint64_t>(number.substr(0, point));
  if (!unit || !whole) return std::nullopt;
  const auto bytes = checked_mul(*whole, *unit);
  if (point == std::string_view::npos || !bytes) return bytes;
  const auto part = parse_fraction(number.substr(point + 1), *unit);
  return part ? checked_add(*bytes, *part) : std::nullopt;
}

}  // namespace h5mount
