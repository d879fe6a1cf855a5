#include "query.h"

#include <algorithm>
#include <charconv>

#include "../http/fields.h"

namespace h5mount::serve {
namespace {

// A `%` that no two digits follow stands for itself.
std::string decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && text.size() - i > 2 &&
               std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> ApiQuery::all(std::string_view name) const {
  std::vector<std::string> out;
  for (std::string_view rest = query_; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    if (decoded(part.substr(0, equals)) == name)
      out.push_back(decoded(part.substr(std::min(equals + 1, part.size()))));
  }
  return out;
}

std::optional<std::string> ApiQuery::get(std::string_view name) const {
  std::vector<std::string> values = all(name);
  if (values.empty()) return std::nullopt;
  return std::move(values.front());
}

bool ApiQuery::is_true(std::string_view name) const {
  const auto value = get(name);
  return value && !equals_ignoring_case(*value, "false");
}

}  // namespace h5mount::serve
