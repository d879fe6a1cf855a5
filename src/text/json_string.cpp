#include <algorithm>

#include "h5mount/base/utf8.h"
#include "h5mount/text/value_text.h"

namespace h5mount::text {

namespace {

template <class Out>
void append_u_escape(std::string_view prefix, unsigned byte, Out& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += prefix;
  out.push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 0x0F]);
}

template <class Out>
void append_ascii(char c, Out& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) < 0x20)
    append_u_escape("\\u00", static_cast<unsigned char>(c), out);
  else
    out.push_back(c);
}

// The number of bytes at the start that need no escape.
std::size_t plain_bytes(std::string_view bytes) {
  // Bytes that are not ASCII are below zero.
  const auto special = [](char c) { return static_cast<signed char>(c) < 0x20 || c == '"' || c == '\\'; };
  return static_cast<std::size_t>(std::ranges::find_if(bytes, special) - bytes.begin());
}

// Takes text as std::string does, but keeps only its length.
struct LengthOf {
  std::size_t bytes = 0;
  void push_back(char) { ++bytes; }
  void append(std::string_view text, std::size_t, std::size_t count) {
    bytes += std::min(count, text.size());
  }
  void operator+=(std::string_view text) { bytes += text.size(); }
};

template <class Out>
void append_literal(std::string_view bytes, Out& out) {
  out.push_back('"');
  while (!bytes.empty()) {
    if (const std::size_t plain = plain_bytes(bytes); plain > 0) {
      out.append(bytes, 0, plain);
      bytes.remove_prefix(plain);
      continue;
    }
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

}  // namespace

void append_json_string(std::string_view bytes, std::string& out) {
  append_literal(bytes, out);
}

std::string json_string(std::string_view bytes) {
  std::string out;
  append_json_string(bytes, out);
  return out;
}

std::size_t json_string_length(std::string_view bytes) {
  LengthOf length;
  append_literal(bytes, length);
  return length.bytes;
}

}  // namespace h5mount::text
