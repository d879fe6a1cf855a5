#include "h5mount/base/text.h"

#include <algorithm>
#include <array>

namespace h5mount {

namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoBase64Digit = 64;

constexpr std::array<std::uint8_t, 256> kBase64Values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64Digit);
  for (std::uint8_t i = 0; i < kBase64Digits.size(); ++i)
    values[static_cast<unsigned char>(kBase64Digits[i])] = i;
  return values;
}();

}  // namespace

std::string_view trim(std::string_view text, std::string_view characters) {
  const std::size_t begin = std::min(text.find_first_not_of(characters), text.size());
  return text.substr(begin, text.find_last_not_of(characters) + 1 - begin);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

bool starts_ignoring_case(std::string_view text, std::string_view prefix) {
  return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

std::string_view take_until(std::string_view& text, char separator) {
  const auto [first, rest] = split_at(text, separator);
  text = rest;
  return first;
}

std::pair<std::string_view, std::string_view> split_at(std::string_view text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  return {text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

template <>
std::optional<double> parse_whole(std::string_view text, int) {
  double out = 0;
  const char* const end = text.data() + text.size();
  const auto [last, trouble] = std::from_chars(text.data(), end, out);
  return trouble == std::errc{} && last == end ? std::optional(out) : std::nullopt;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

std::optional<char> parse_hex_byte(std::string_view text) {
  const auto byte = parse_whole<unsigned char>(text.substr(0, 2), 16);
  return text.size() < 2 ? std::nullopt
                         : byte.transform([](unsigned char value) { return static_cast<char>(value); });
}

void append_base64(std::string_view bytes, std::string& out) {
  constexpr std::size_t kGroup = 3, kDigitsOfGroup = 4;
  const std::size_t begin = out.size();
  out.resize(begin + (bytes.size() + kGroup - 1) / kGroup * kDigitsOfGroup, '=');
  char* to = out.data() + begin;
  for (std::size_t i = 0; i < bytes.size(); i += kGroup, to += kDigitsOfGroup) {
    std::uint32_t group = 0;
    const std::size_t count = std::min(kGroup, bytes.size() - i);
    for (std::size_t j = 0; j < count; ++j)
      group |= std::uint32_t{static_cast<unsigned char>(bytes[i + j])} << (16 - 8 * j);
    for (std::size_t j = 0; j <= count; ++j) to[j] = kBase64Digits[group >> (18 - 6 * j) & 63];
  }
}

std::string from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::uint8_t digit = kBase64Values[static_cast<unsigned char>(c)];
    if (digit == kNoBase64Digit) break;
    bits = bits << 6 | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

}  // namespace h5mount
