#include "fields.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/text.h"

namespace h5mount::serve {
namespace {

// The weight of `q=` in thousandths; 1,000 if there is none, 0 if it is invalid.
unsigned weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = trim(take_until(parameters, ';'));
    if (!starts_ignoring_case(parameter, "q=")) continue;
    const double value = parse_whole<double>(parameter.substr(2)).value_or(0);
    return value > 0 ? static_cast<unsigned>(std::min(value, 1.0) * 1000) : 0;
  }
  return 1000;
}

struct Weighed {
  std::string_view name;
  unsigned weight;
};
Weighed weighed(std::string_view item) {
  const auto [name, parameters] = split_at(item, ';');
  return {trim(name), weight_of(parameters)};
}

}  // namespace

void for_each_item(std::string_view list, const std::function<void(std::string_view)>& take) {
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '"') quoted = !quoted;
    if (i < list.size() && (quoted || list[i] != ',')) continue;
    if (const std::string_view item = trim(list.substr(begin, i - begin)); !item.empty()) take(item);
    begin = i + 1;
  }
}

std::string format_date(std::time_t time) {
  std::tm parts = {};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", parts);
}

// This program's locale is always that of C, so the names are English.
std::optional<std::time_t> parse_date(std::string_view text) {
  const std::string date(trim(text));
  for (const char* const form :
       {"%a, %d %b %Y %H:%M:%S GMT", "%a, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    std::tm parts = {};
    if (::strptime(date.c_str(), form, &parts) == date.c_str() + date.size()) return ::timegm(&parts);
  }
  return std::nullopt;
}

unsigned accept_weight(std::optional<std::string_view> accept, std::string_view type) {
  if (!accept) return 1000;
  const std::string whole_group = fmt::format("{}/*", type.substr(0, type.find('/')));
  int best = -1;
  unsigned out = 0;
  for_each_item(*accept, [&](std::string_view item) {
    const auto [name, weight] = weighed(item);
    const int precision = equals_ignoring_case(name, type)          ? 2
                          : equals_ignoring_case(name, whole_group) ? 1
                          : name == "*/*"                           ? 0
                                                                    : -1;
    if (precision <= best) return;
    best = precision;
    out = weight;
  });
  return out;
}

bool names_type(std::optional<std::string_view> accept, std::string_view type) {
  bool found = false;
  if (!accept) return false;
  for_each_item(*accept, [&](std::string_view item) {
    const auto [name, weight] = weighed(item);
    found = found || (weight > 0 && equals_ignoring_case(name, type));
  });
  return found;
}

bool accepts_gzip(std::optional<std::string_view> accept_encoding) {
  if (!accept_encoding) return false;
  std::optional<unsigned> named, any;
  for_each_item(*accept_encoding, [&](std::string_view item) {
    const auto [name, weight] = weighed(item);
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) named = weight;
    if (name == "*") any = weight;
  });
  return named.value_or(any.value_or(0)) > 0;
}

}  // namespace h5mount::serve
