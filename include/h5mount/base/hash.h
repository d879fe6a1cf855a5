// Hashes for tables, digests and numbers that are the same on every machine: inode numbers are made from
// them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace h5mount {

inline std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
  return hash;
}

// Every bit of the input affects every bit of the result (the finaliser of splitmix64).
inline std::uint64_t mix_bits(std::uint64_t value) {
  value += 0x9E37'79B9'7F4A'7C15U;
  value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EBU;
  return value ^ (value >> 31);
}
inline std::uint64_t mix_bits(std::initializer_list<std::uint64_t> values) {
  std::uint64_t out = 0;
  for (const std::uint64_t value : values) out = mix_bits(out ^ value);
  return out;
}

}  // namespace h5mount
