// Percent-encoding as signature version 4 wants it of S3: all but the unreserved characters of RFC 3986
// (letters, digits, - . _ ~), with upper-case digits.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h5mount::sign {

// Names and values, in the order in which they stand; a name may stand there more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string encode_component(std::string_view text);
// A path, each segment once: `/` stays.
std::string encode_path(std::string_view path);
// `%XX` becomes its byte; a % that no two digits follow stays.
std::string decode_percent(std::string_view text);
// "a=1&b" and back; `+` is no space.
Fields decode_query(std::string_view query);
std::string encode_query(const Fields& query);

}  // namespace h5mount::sign
