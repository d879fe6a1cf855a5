#include "h5mount/base/base64.h"

#include <algorithm>
#include <array>

namespace h5mount {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::uint8_t i = 0; i < kDigits.size(); ++i) values[static_cast<unsigned char>(kDigits[i])] = i;
  return values;
}();

}  // namespace

void append_base64(ByteSpan bytes, std::string& out) {
  constexpr std::size_t kGroup = 3, kDigitsOfGroup = 4;
  const std::size_t begin = out.size();
  out.resize(begin + (bytes.size() + kGroup - 1) / kGroup * kDigitsOfGroup, '=');
  char* to = out.data() + begin;
  for (std::size_t i = 0; i < bytes.size(); i += kGroup, to += kDigitsOfGroup) {
    std::uint32_t group = 0;
    const std::size_t count = std::min(kGroup, bytes.size() - i);
    for (std::size_t j = 0; j < count; ++j)
      group |= std::to_integer<std::uint32_t>(bytes[i + j]) << (16 - 8 * j);
    for (std::size_t j = 0; j <= count; ++j) to[j] = kDigits[group >> (18 - 6 * j) & 63];
  }
}

std::string from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::uint8_t digit = kValues[static_cast<unsigned char>(c)];
    if (digit == kNoDigit) break;
    bits = bits << 6 | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

}  // namespace h5mount
