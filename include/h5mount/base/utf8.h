// What is UTF-8: the well-formed sequences of the Unicode standard, table 3-7. Pure; threads: any.
#pragma once

#include <cstddef>
#include <string_view>

namespace h5mount {

// Bytes (1 to 4) of the well-formed sequence at the start of `bytes`: no overlong form, no surrogate, nothing
// above U+10FFFF. 0 where there is none, and for an empty string.
std::size_t utf8_length(std::string_view bytes);

// The longest prefix of at most `most` bytes that cuts no well-formed sequence in two.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

}  // namespace h5mount
