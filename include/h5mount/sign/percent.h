// Percent-encoding as signature version 4 of S3 requires it: all characters are encoded but the unreserved
// ones of RFC 3986 (letters, digits, - . _ ~), with upper-case digits.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h5mount::sign {

// Names and values, in their order; a name may occur more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

std::string encode_component(std::string_view text);
// Encodes the segments of a path once; `/` is kept.
std::string encode_path(std::string_view path);
// Replaces each `%XX` by its byte; a % that is not followed by two digits is kept.
std::string decode_percent(std::string_view text);
// Between "a=1&b" and fields; `+` does not stand for a space.
Fields decode_query(std::string_view query);
std::string encode_query(const Fields& query);

}  // namespace h5mount::sign
