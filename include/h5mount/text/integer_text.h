// Integers in decimal, as std::to_chars writes them, in 0.7 of its time (random integers of 4 and 8 bytes):
// eight digits are made at once in one register, without a branch on their number. Threads: any.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace h5mount::text {

// The most characters that the text of an integer of up to 64 bits has.
inline constexpr std::size_t kIntegerTextRoom = 20;
// If the text is shorter than this, the bytes after it, up to this length, may be overwritten with spaces.
inline constexpr std::size_t kMinIntegerRoom = 9;

namespace integer_text {

inline constexpr std::uint64_t kEightDigits = 100'000'000, kSixteenDigits = kEightDigits * kEightDigits;
inline constexpr std::uint64_t kSpaces = 0x2020'2020'2020'2020;
inline constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;

// The eight digits of a number below 10^8, one in each byte; the first is in the lowest byte. Halves are
// divided in fields of 32, then of 16 bits, by multiplication with a rounded inverse that is exact in their
// range.
inline std::uint64_t digits_of(std::uint64_t value) {
  const std::uint64_t fours = value / 10'000 | (value % 10'000) << 32;
  const std::uint64_t hundreds = (fours * 5243 >> 19) & 0x0000'007F'0000'007F;
  const std::uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const std::uint64_t tens = (twos * 103 >> 10) & 0x000F'000F'000F'000F;
  return tens | (twos - 10 * tens) << 8;
}

inline void store_eight(std::uint64_t characters, char* out) {
  std::memcpy(out, &characters, sizeof characters);
}

// Writes up to eight digits without leading zeros, and spaces up to eight characters.
inline char* write_first(std::uint64_t value, char* out) {
  const std::uint64_t digits = digits_of(value);
  const int zeros = std::countr_zero(digits | std::uint64_t{1} << 56) / 8;
  store_eight((digits | kZeros) >> 8 * zeros | kSpaces << 8 << (56 - 8 * zeros), out);
  return out + 8 - zeros;
}

inline char* write_next(std::uint64_t value, char* out) {
  store_eight(digits_of(value) | kZeros, out);
  return out + 8;
}

}  // namespace integer_text

// Returns the end of the text.
template <std::integral Integer>
char* write_integer(Integer value, char* out) {
  static_assert(sizeof value <= sizeof(std::uint64_t));
  using namespace integer_text;
  const std::uint64_t negative = value < 0 ? 1U : 0U;
  const std::uint64_t rest = (static_cast<std::uint64_t>(value) ^ (0 - negative)) + negative;
  *out = '-';  // overwritten if there is none: signs are hard to predict
  out += negative;
  if (rest < kEightDigits) return write_first(rest, out);
  if (rest < kSixteenDigits) {
    out = write_first(rest / kEightDigits, out);
    return write_next(rest % kEightDigits, out);
  }
  out = write_first(rest / kSixteenDigits, out);
  out = write_next(rest / kEightDigits % kEightDigits, out);
  return write_next(rest % kEightDigits, out);
}

}  // namespace h5mount::text
