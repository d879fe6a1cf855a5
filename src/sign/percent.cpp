#include "h5mount/sign/percent.h"

#include <charconv>

#include <fmt/format.h>

namespace h5mount::sign {
namespace {

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::string encode(std::string_view text, std::string_view also_kept) {
  std::string out;
  for (char c : text) {
    if (is_unreserved(c) || also_kept.contains(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

std::string encode_component(std::string_view text) {
  return encode(text, "");
}

std::string encode_path(std::string_view path) {
  return encode(path, "/");
}

std::string decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Fields decode_query(std::string_view query) {
  Fields out;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    const std::size_t equals = std::min(part.find('='), part.size());
    if (!part.empty()) {
      out.emplace_back(decode_percent(part.substr(0, equals)),
                       decode_percent(part.substr(std::min(equals + 1, part.size()))));
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return out;
}

std::string encode_query(const Fields& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += encode_component(name) + '=' + encode_component(value);
  }
  return out;
}

}  // namespace h5mount::sign
