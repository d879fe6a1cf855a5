// The decimal with the fewest digits that reads back to the same float or double, in the form of
// std::to_chars but always with '.' or an exponent. Whole numbers up to 2^53 are written in full instead, as
// the shortest decimal of a float is another number to a reader of doubles; larger ones have an exponent if
// they would show more digits than needed. Digits of floats are half the work of a table's text: this takes
// two thirds of the time of std::to_chars. Of fmt's internal functions only those are used that versions 9 to
// 11 share, and no other source uses any; `join` is in fmt/ranges.h in all of
// them. Threads: any.
#pragma once

#include <cstdint>

namespace h5mount::text {

// The largest whole number that is written in full: doubles have every one up to here.
inline constexpr std::uint64_t kLargestInFull = std::uint64_t{1} << 53;

// The text has at most 26 characters, but more of `out` may be overwritten.
inline constexpr int kFloatTextRoom = 48;

// Returns the end of the text. `value` is finite; `out` has kFloatTextRoom bytes.
char* write_float(double value, char* out);
char* write_float(float value, char* out);

}  // namespace h5mount::text
