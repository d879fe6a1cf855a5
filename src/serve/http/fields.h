// Values of header fields: lists, dates, what a client accepts. RFC 9110. Threads: any.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace h5mount::serve {

// Calls `take` for each item of a comma-separated list that is not empty. Commas in quoted strings do not
// separate.
void for_each_item(std::string_view list, const std::function<void(std::string_view)>& take);

// Returns, for example, "Sun, 06 Nov 1994 08:49:37 GMT".
std::string format_date(std::time_t time);
// Reads the three forms that the standard allows; nullopt if the text has none of them.
std::optional<std::time_t> parse_date(std::string_view text);

// The weight in thousandths that an Accept field gives to a media type ("text/html"), or to any type if the
// field is missing: the most specific range decides. 0: the type is not accepted.
unsigned accept_weight(std::optional<std::string_view> accept, std::string_view type);
// Whether the field names the type itself, not only by a wildcard.
bool names_type(std::optional<std::string_view> accept, std::string_view type);
// Whether an Accept-Encoding field accepts gzip.
bool accepts_gzip(std::optional<std::string_view> accept_encoding);

}  // namespace h5mount::serve
