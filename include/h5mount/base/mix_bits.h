// A digest of numbers, for tables and to tell states apart: not against those who choose the numbers.
#pragma once

#include <cstdint>

namespace h5mount {

constexpr std::uint64_t mix_bits(std::uint64_t digest, std::uint64_t value) {
  digest = (digest ^ value) * 0x9E37'79B9'7F4A'7C15U;
  return digest ^ digest >> 29U;
}

}  // namespace h5mount
