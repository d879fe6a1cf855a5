#include "h5mount/text/shortest_float.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "h5mount/base/mechanism.h"
#include "h5mount/text/integer_text.h"

namespace h5mount::text {

namespace {

char* with_point(char* begin, char* end) {
  if (std::none_of(begin, end, [](char c) { return c == '.' || c == 'e'; })) {
    *end++ = '.';
    *end++ = '0';
  }
  return end;
}

// The number of digits of a whole number, or before an exponent, without trailing zeros.
std::ptrdiff_t significant_digits(const char* begin, const char* end) {
  end = std::find(begin, end, 'e');
  while (end > begin && end[-1] == '0') --end;
  return std::count_if(begin, end, [](char c) { return c >= '0' && c <= '9'; });
}

// Whole numbers are written in full as far as every reader of doubles has them exactly, whatever their own
// format needs. std::to_chars writes larger ones with all their digits too, even those that are not needed to
// identify the value; such numbers are written with an exponent here.
template <class Float>
char* write_by_to_chars(Float value, char* out) {
  constexpr auto kInFull = static_cast<Float>(kLargestInFull);
  if (std::abs(value) <= kInFull && value != 0 && value == std::trunc(value))
    return with_point(out, std::to_chars(out, out + kFloatTextRoom, static_cast<std::int64_t>(value)).ptr);
  char* const end = std::to_chars(out, out + kFloatTextRoom, value).ptr;
  if (std::abs(value) > kInFull && std::find(out, end, 'e') == end) {
    char shortest[kFloatTextRoom];
    char* const shortest_end =
        std::to_chars(shortest, shortest + kFloatTextRoom, value, std::chars_format::scientific).ptr;
    if (significant_digits(shortest, shortest_end) < significant_digits(out, end))
      return std::copy(shortest, shortest_end, out);
  }
  return with_point(out, end);
}

#if FMT_VERSION >= 90000 && FMT_VERSION < 120000

const bool kFast = is_on(Mechanism::ShortestFloat);

// libfmt converts by the Dragonbox algorithm, but has no public function that returns the digits alone.
template <class Float>
char* write(Float value, char* out) {
  if (value == 0 || !kFast) return write_by_to_chars(value, out);
  const auto decimal = fmt::detail::dragonbox::to_decimal(value);
  const std::uint64_t number = decimal.significand;  // below 10^17
  constexpr int kEnd = 24, kCopied = 24;
  constexpr std::uint32_t kEight = 100'000'000;
  char padded[kEnd + kCopied];  // the digits, zeros before them, and what is copied behind them
  std::memset(padded, '0', sizeof padded);
  padded[7] = static_cast<char>('0' + number / kEight / kEight);
  integer_text::write_next(number / kEight % kEight, padded + 8);
  integer_text::write_next(number % kEight, padded + 16);
  const int digits = fmt::detail::count_digits(number), point = digits + decimal.exponent;
  const char* const first = padded + kEnd - digits;
  // Copying always the same length is cheaper than copying the exact one.
  const auto copy = [&out](const char* from, int count) {
    std::memcpy(out, from, kCopied);
    out += count;
  };
  const int exponent = point - 1;  // in scientific form
  const int scientific = digits + (digits > 1 ? 1 : 0) + (std::abs(exponent) < 100 ? 4 : 5);
  constexpr int kExactDigits = 15;
  const bool whole = decimal.exponent >= 0;
  if (whole && (decimal.exponent > 0 || digits > kExactDigits)) return write_by_to_chars(value, out);
  if (std::signbit(value)) *out++ = '-';
  if (whole) {
    copy(first, digits);
    *out++ = '.';
    *out++ = '0';
  } else if (point > 0) {  // never longer than the scientific form
    copy(first, point);
    *out++ = '.';
    copy(first + point, digits - point);
  } else if (2 - decimal.exponent <= scientific) {
    *out++ = '0';
    *out++ = '.';
    copy(first + point, digits - point);  // with zeros before them
  } else {
    copy(first, 1);
    if (digits > 1) *out++ = '.';
    copy(first + 1, digits - 1);
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (std::abs(exponent) < 10) *out++ = '0';
    out = std::to_chars(out, out + 3, std::abs(exponent)).ptr;
  }
  return out;
}

#else

template <class Float>
char* write(Float value, char* out) {
  return write_by_to_chars(value, out);
}

#endif

}  // namespace

char* write_float(double value, char* out) {
  return write(value, out);
}

char* write_float(float value, char* out) {
  return write(value, out);
}

}  // namespace h5mount::text
