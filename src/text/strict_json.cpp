#include "h5mount/text/strict_json.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace h5mount::text {

namespace {

// The bytes of the string at the beginning, its quotes included.
std::size_t string_bytes(std::string_view json) {
  std::size_t end = 1;
  while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2U : 1U;
  return std::min(end + 1, json.size());
}

bool is_infinity(std::string_view word) {
  return word == "Infinity" || word == "-Infinity";
}

// Whether it is a number that is larger than all doubles.
bool is_too_large(std::string_view word) {
  const std::size_t exponent = word.find('e');
  if (exponent == std::string_view::npos || word.substr(exponent + 1).starts_with('-')) return false;
  double value = 0;
  return std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc::result_out_of_range;
}

}  // namespace

std::string strict_json(std::string_view json, NotFinite form) {
  std::string out;
  while (!json.empty()) {
    const bool is_string = json.front() == '"';
    const std::size_t bytes =
        is_string ? string_bytes(json) : std::min(json.find_first_of("[]{},:\""), json.size());
    const std::string_view word = json.substr(0, std::max<std::size_t>(bytes, 1));
    json.remove_prefix(word.size());
    const bool no_number = word == "NaN", infinite = is_infinity(word), too_large = is_too_large(word);
    if (is_string || (!no_number && !infinite && !too_large))
      out += word;
    else if (no_number && form == NotFinite::NanIsNull)
      out += "null";
    else if (no_number || form != NotFinite::Overflowing)
      out.append("\"").append(word).append("\"");
    else
      out += too_large ? word : word.front() == '-' ? "-1e999" : "1e999";
  }
  return out;
}

}  // namespace h5mount::text
