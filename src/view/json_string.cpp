#include <algorithm>

#include "h5mount/view/value_text.h"

namespace h5mount {

namespace {

// Bytes of the well-formed UTF-8 sequence at the start of `bytes` (no overlong forms, surrogates or numbers above
// U+10FFFF); 0 where there is none.
std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80; };
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

void append_u_escape(std::string_view prefix, unsigned byte, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += prefix;
  out.push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 0x0F]);
}

void append_ascii(char c, std::string& out) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (static_cast<unsigned char>(c) < 0x20)
    append_u_escape("\\u00", static_cast<unsigned char>(c), out);
  else
    out.push_back(c);
}

}  // namespace

void append_json_string(std::string_view bytes, std::string& out) {
  out.push_back('"');
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0)
      append_u_escape("\\udc", static_cast<unsigned char>(bytes[0]), out);
    else if (length == 1)
      append_ascii(bytes[0], out);
    else
      out.append(bytes, 0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out.push_back('"');
}

}  // namespace h5mount
