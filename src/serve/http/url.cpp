#include "url.h"

#include <algorithm>

#include "fields.h"
#include "h5mount/base/log.h"
#include "h5mount/base/uri.h"

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

}  // namespace

Query::Query(std::string text) {
  std::ranges::replace(text, '+', ' ');
  parameters_ = decode_query(text);
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : parameters_)
    if (key == name) out.push_back(value);
  return out;
}

std::optional<std::string> Query::get(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Fields::value_type::first);
  return found == parameters_.end() ? std::nullopt : std::optional(found->second);
}

bool Query::is_true(std::string_view name) const {
  const auto value = get(name);
  return value && !equals_ignoring_case(*value, "false");
}

std::optional<Target> parse_target(std::string_view target) {
  constexpr std::string_view kHttp = "http://";
  Target out;
  if (equals_ignoring_case(target.substr(0, kHttp.size()), kHttp)) {
    target.remove_prefix(kHttp.size());
    out.authority = target.substr(0, target.find_first_of("/?"));
    if (out.authority.empty()) return std::nullopt;
    target.remove_prefix(out.authority.size());
    if (!target.starts_with('/')) out.path = "/";
  } else if (!target.starts_with('/')) {
    return std::nullopt;
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  out.path += target.substr(0, question);
  out.query = target.substr(std::min(question + 1, target.size()));
  out.parameters = Query(out.query);
  if (const auto path = decode_path(out.path)) out.place = without_dot_segments(*path);
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

std::string without_parameter(std::string_view query, std::string_view name) {
  std::string out;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (!Query(std::string(part)).has(name)) out.append(out.empty() ? "" : "&").append(part);
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
