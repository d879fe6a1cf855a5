// Taking text apart, as all modules do it. Letters are those of ASCII: nothing here depends on a locale. What
// is returned as std::string_view lies in the text that was given. Pure functions; threads: any.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h5mount {

// Without these characters at both ends.
std::string_view trim(std::string_view text, std::string_view characters = " \t");

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string to_lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
bool starts_ignoring_case(std::string_view text, std::string_view prefix);

// Cuts off and returns what is before the first separator, which goes as well; all of `text` where there is
// none. What a text consists of is read by `for (std::string_view rest = text; !rest.empty();)`, which
// ignores an empty last part.
std::string_view take_until(std::string_view& text, char separator);
// Before and behind the first separator; the second part is empty where there is none.
std::pair<std::string_view, std::string_view> split_at(std::string_view text, char separator);

// All parts between separators, empty ones too: one more than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator);

// The number that the whole text is, or nothing: no space, no sign `+`, no other characters behind it.
template <class Number>
std::optional<Number> parse_whole(std::string_view text, int base = 10) {
  Number out{};
  const char* const end = text.data() + text.size();
  const auto [last, trouble] = std::from_chars(text.data(), end, out, base);
  return trouble == std::errc{} && last == end ? std::optional(out) : std::nullopt;
}
template <>
std::optional<double> parse_whole(std::string_view text, int base);  // in decimal notation

// 1500, 64K, 64KiB, 1.5G, 64MB (of 1000 * 1000): bytes.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// The one of `names` that a misspelt `word` most likely means: with the fewest letters to change, add or
// remove, at most two, or one in a word of four letters or fewer. Case, `_` and `-` are ignored. Empty if
// there is none.
std::string_view suggestion(std::string_view word, std::span<const std::string_view> names);

// Two lower-case digits a byte.
std::string to_hex(std::string_view bytes);
// The byte that the first two characters are as digits of either case.
std::optional<char> parse_hex_byte(std::string_view text);

// Base64 (RFC 4648, 4); read up to the first character that is not part of it.
void append_base64(std::string_view bytes, std::string& out);
std::string from_base64(std::string_view text);

}  // namespace h5mount
