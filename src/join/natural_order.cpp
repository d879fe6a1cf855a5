#include <algorithm>
#include <compare>

#include "h5mount/join/card.h"

namespace h5mount::join {

namespace {

bool is_name_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_name_digit(text[digits])) ++digits;
  const std::string_view out = text.substr(0, digits);
  text.remove_prefix(digits);
  return out;
}

// As numbers of any length.
std::strong_ordering compare_digits(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  return a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
}

// A `/` is before every other byte: a directory's files stand together.
unsigned rank_of(char c) {
  return c == '/' ? 0 : 1U + static_cast<unsigned char>(c);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_name_digit(a[0]) && is_name_digit(b[0])) {
      const auto order = compare_digits(take_digits(a), take_digits(b));
      if (order != 0) return order < 0;
      continue;
    }
    if (a[0] != b[0]) return rank_of(a[0]) < rank_of(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in leading zeros at most
}

}  // namespace h5mount::join
