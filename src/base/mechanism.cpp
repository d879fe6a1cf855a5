#include "h5mount/base/mechanism.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "h5mount/base/text.h"

namespace h5mount {
namespace {

constexpr std::array<std::string_view, 7> kMechanismNames{"column-ahead", "listing-advice", "wait-choice",
                                                          "fair-turns",   "heap-trim",      "shortest-float",
                                                          "no-opendir"};

// One bit for each mechanism that is off.
std::uint32_t switched_off() {
  const char* named = std::getenv("H5MOUNT_WITHOUT");
  std::string_view rest = named ? named : "";
  std::uint32_t off = 0;
  while (!rest.empty()) {
    const std::string_view name = take_until(rest, ',');
    for (std::size_t i = 0; i < kMechanismNames.size(); ++i)
      if (kMechanismNames[i] == name) off |= 1U << i;
  }
  return off;
}

}  // namespace

bool is_on(Mechanism mechanism) {
  static const std::uint32_t off = switched_off();
  return (off >> static_cast<unsigned>(mechanism) & 1U) == 0;
}

}  // namespace h5mount
