#include "url.h"

#include <algorithm>

#include "h5mount/base/log.h"
#include "h5mount/base/text.h"
#include "h5mount/base/uri.h"

namespace h5mount::serve {
namespace {

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
  const std::string* const found = find_parameter(parameters_, name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

bool Query::is_true(std::string_view name) const {
  const auto value = get(name);
  return value && !equals_ignoring_case(*value, "false");
}

std::optional<Target> parse_target(std::string_view target) {
  constexpr std::string_view kHttp = "http://";
  Target out;
  if (starts_ignoring_case(target, kHttp)) {
    target.remove_prefix(kHttp.size());
    out.authority = target.substr(0, target.find_first_of("/?"));
    if (out.authority.empty()) return std::nullopt;
    target.remove_prefix(out.authority.size());
    if (!target.starts_with('/')) out.path = "/";
  } else if (!target.starts_with('/')) {
    return std::nullopt;
  }
  const auto [path_sent, query] = split_at(target, '?');
  out.path += path_sent;
  out.query = query;
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
    const auto byte = parse_hex_byte(path.substr(i + 1));
    if (!byte || *byte == '/' || *byte == '\0') return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

std::string without_parameter(std::string_view query, std::string_view name) {
  std::string out;
  while (!query.empty()) {
    const std::string_view part = take_until(query, '&');
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
