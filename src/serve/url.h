// Request targets and the references in listings: RFC 3986 and RFC 9112 section 3.2. Pure functions; threads:
// any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h5mount::serve {

// A target as sent: `/path?query`, or in absolute form `http://authority/path?query`.
struct Target {
  std::string authority;  // of the absolute form, else empty
  std::string_view path;  // percent-encoded, begins with `/`
  std::string_view query;
};
// Nothing for what is neither. The views are into `target`.
std::optional<Target> parse_target(std::string_view target);

// Decodes a path. Nothing where a `%` is not followed by two hex digits; where a segment holds an encoded `/`
// or NUL, which no name of the tree can; or where a byte may not stand in a target.
std::optional<std::string> decode_path(std::string_view path);

// A decoded path without `.` and `..` segments, as RFC 3986 section 5.2.4 removes them: it cannot leave the
// root.
std::string without_dot_segments(std::string_view path);

// One segment of a path, everything percent-encoded but the unreserved characters.
std::string encode_segment(std::string_view name);
// A path, segment by segment; without the leading `/`.
std::string encode_path(std::string_view path);

// Whether the query has a parameter of that name, and its value as it stands there (empty without `=`). Names
// are compared decoded.
std::optional<std::string_view> query_parameter(std::string_view query, std::string_view name);
// The query without the parameters of that name.
std::string without_parameter(std::string_view query, std::string_view name);

// Text for HTML, in elements and in attributes; what is not UTF-8 and control characters are shown as \xNN.
std::string escape_html(std::string_view text);

}  // namespace h5mount::serve
