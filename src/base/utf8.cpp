#include "h5mount/base/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace h5mount {

std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80; };
  if (bytes.empty()) return 0;
  const unsigned first = at(0), second = at(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool beyond = first == 0xF4 && second > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::uint32_t code, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = kReplacement;
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto add_rest = [&](unsigned shift) { add(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0U | code >> 6);
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12);
    add_rest(6);
  } else {
    add(0xF0U | code >> 18);
    add_rest(12);
    add_rest(6);
  }
  add_rest(0);
}

std::string escape_invalid_utf8(std::string_view text, const char* form) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    if (bytes > 0)
      out += text.substr(0, bytes);
    else
      out += fmt::format(fmt::runtime(form), static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  for (std::size_t back = 1; back <= 3 && back <= most; ++back)
    if (const std::size_t start = most - back; start + utf8_length(text.substr(start)) > most)
      return text.substr(0, start);
  return text.substr(0, most);
}

}  // namespace h5mount
