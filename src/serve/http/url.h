// Request targets and the references in listings: RFC 3986 and RFC 9112 section 3.2. Pure functions; threads:
// any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h5mount::serve {

// The parameters of a query, as forms encode them: `+` is a space, percent-encoded bytes may be any, and a
// `%` that no two digits follow stands for itself.
class Query {
 public:
  Query() = default;
  explicit Query(std::string text);

  // The first parameter of that name (empty without `=`); nullopt if there is none.
  std::optional<std::string> get(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  bool has(std::string_view name) const { return get(name).has_value(); }
  // True for any value but `false`, as h5grove reads it.
  bool is_true(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

// A target: `/path?query`, or in absolute form `http://authority/path?query`.
struct Target {
  std::string authority;  // only in the absolute form, else empty
  std::string path;       // percent-encoded, begins with `/`
  std::string query;      // as it was sent
  Query parameters = {};
  // The decoded path without dot segments; nullopt if decode_path refuses it.
  std::optional<std::string> place = {};
};
// Returns nullopt if the target has neither form.
std::optional<Target> parse_target(std::string_view target);

// Decodes a path. Returns nullopt if a `%` is not followed by two hex digits, if a segment contains an
// encoded `/` or NUL, which no name of the tree can, or if it contains a byte that may not stand in a target.
std::optional<std::string> decode_path(std::string_view path);

// The query without the parameters of that name, which are compared decoded.
std::string without_parameter(std::string_view query, std::string_view name);

// Escapes text for HTML, in elements and in attributes; bytes that are not UTF-8 and control characters are
// shown as \xNN.
std::string escape_html(std::string_view text);

}  // namespace h5mount::serve
