// Percent-encoding of RFC 3986, in the form that signature version 4 of S3 requires: every character is
// encoded but the unreserved ones (letters, digits, - . _ ~), with upper-case digits. Pure functions;
// threads: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace h5mount {

// Names and values of a query or of headers, in their order; a name may occur more than once.
using Fields = std::vector<std::pair<std::string, std::string>>;

// The characters of `also_kept` are not encoded either.
std::string encode_component(std::string_view text, std::string_view also_kept = {});
// Encodes the segments of a path once; `/` is kept.
std::string encode_path(std::string_view path);
// A path, which begins with a slash, without its segments `.` and `..`, which are removed as in RFC 3986
// section 5.2.4: it cannot leave the root.
std::string without_dot_segments(std::string_view path);
// Replaces each `%XX` by its byte; a % that is not followed by two digits is kept.
std::string decode_percent(std::string_view text);
// The value of the first field of exactly that name; null if there is none.
const std::string* find_parameter(const Fields& fields, std::string_view name);
// Between "a=1&b" and fields; `+` does not stand for a space.
Fields decode_query(std::string_view query);
std::string encode_query(const Fields& query);

}  // namespace h5mount
