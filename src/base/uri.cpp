#include "h5mount/base/uri.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/text.h"

namespace h5mount {
namespace {

constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

}  // namespace

std::string encode_component(std::string_view text, std::string_view also_kept) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (kUnreserved.contains(c) || also_kept.contains(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string encode_path(std::string_view path) {
  return encode_component(path, "/");
}

std::string without_dot_segments(std::string_view path) {
  std::string out;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    const bool last = end == path.size();
    if (segment == "..") out.resize(out.empty() ? 0 : out.rfind('/'));
    if (segment != "." && segment != "..")
      out.append("/").append(segment);
    else if (last)
      out += '/';
    begin = end + 1;
  }
  return out;
}

std::string decode_percent(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? parse_hex_byte(text.substr(i + 1)) : std::nullopt;
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

const std::string* find_parameter(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? nullptr : &found->second;
}

Fields decode_query(std::string_view query) {
  Fields out;
  while (!query.empty()) {
    const std::string_view part = take_until(query, '&');
    const auto [name, value] = split_at(part, '=');
    if (!part.empty()) out.emplace_back(decode_percent(name), decode_percent(value));
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

}  // namespace h5mount
