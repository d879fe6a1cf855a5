// Date forms: texts with strptime's %Y %m %d %H %M %S %j, each of as many digits as it has, and %% for `%`.
// Pure; threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::join {

// Whether the form says a date: it has a year, and a day only within a month. Fails with InvalidValue, and
// words for the user.
Status check_date_form(std::string_view form);

struct FoundDate {
  std::string_view text;     // in the text that was searched
  std::int64_t seconds = 0;  // since 1970-01-01 in the proleptic Gregorian calendar
};
// The first date of that form; one with no further digits beside it where there is one. `form` is checked.
std::optional<FoundDate> find_date(std::string_view form, std::string_view text);

}  // namespace h5mount::join
