#include "url.h"

#include <algorithm>

#include "h5mount/base/log.h"

namespace h5mount::serve {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) <= ' ' || c == '\x7F';
}

// Schemes are compared without regard to case.
bool begins_with_http(std::string_view target) {
  constexpr std::string_view kHttp = "http://";
  return target.size() >= kHttp.size() &&
         std::ranges::equal(target.substr(0, kHttp.size()), kHttp, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

// The first parameter of a query, which is removed from it.
std::string_view take_parameter(std::string_view& query) {
  const std::size_t end = std::min(query.find('&'), query.size());
  const std::string_view out = query.substr(0, end);
  query.remove_prefix(std::min(end + 1, query.size()));
  return out;
}

bool is_parameter(std::string_view part, std::string_view name) {
  const std::string_view key = part.substr(0, part.find('='));
  return key == name || (key.find('%') != std::string_view::npos && decode_path(key) == name);
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) {
  Target out;
  if (begins_with_http(target)) {
    target.remove_prefix(std::string_view("http://").size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    out.authority = target.substr(0, end);
    if (out.authority.empty()) return std::nullopt;
    target.remove_prefix(end);
    if (!target.starts_with('/')) {
      out.path = "/";
      if (!target.empty()) out.query = target.substr(1);
      return out;
    }
  }
  if (!target.starts_with('/')) return std::nullopt;
  const std::size_t question = target.find('?');
  out.path = target.substr(0, question);
  if (question != std::string_view::npos) out.query = target.substr(question + 1);
  return out;
}

std::optional<std::string> decode_path(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_control(path[i])) return std::nullopt;
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    if (path.size() - i < 3) return std::nullopt;
    const int high = hex_value(path[i + 1]), low = hex_value(path[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    const char byte = static_cast<char>(high * 16 + low);
    if (byte == '/' || byte == '\0') return std::nullopt;
    out += byte;
    i += 2;
  }
  return out;
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

std::string encode_segment(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string encode_path(std::string_view path) {
  std::string out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    out += encode_segment(path.substr(begin, end - begin));
    if (end == path.size()) return out;
    out += '/';
    begin = end + 1;
  }
}

std::optional<std::string_view> query_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view part = take_parameter(query);
    const std::size_t equals = std::min(part.find('='), part.size());
    if (is_parameter(part, name)) return part.substr(std::min(equals + 1, part.size()));
  }
  return std::nullopt;
}

std::string without_parameter(std::string_view query, std::string_view name) {
  std::string out;
  while (!query.empty()) {
    const std::string_view part = take_parameter(query);
    if (!is_parameter(part, name)) out.append(out.empty() ? "" : "&").append(part);
  }
  return out;
}

std::string escape_html(std::string_view text) {
  const std::string shown = escape_for_log(text);
  std::string out;
  out.reserve(shown.size());
  for (const char c : shown) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace h5mount::serve
