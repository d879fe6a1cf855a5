// UTF-8 as the Unicode standard defines it: the well-formed sequences of table 3-7. Pure functions; threads:
// any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace h5mount {

// Length (1 to 4 bytes) of the well-formed sequence at the start of `bytes`: no overlong form, no surrogate,
// nothing above U+10FFFF. 0 for an empty string, or if it begins with no such sequence.
std::size_t utf8_length(std::string_view bytes);

// Appends a code point; what is none (surrogates, and above U+10FFFF) is U+FFFD.
void append_utf8(std::uint32_t code, std::string& out);

// The text, in which each byte that begins no such sequence is its number in a form as "\\x{:02x}".
std::string escape_invalid_utf8(std::string_view text, const char* form);
// Whether the whole text is well-formed.
bool is_utf8(std::string_view text);

// The longest prefix of at most `most` bytes that does not split a well-formed sequence.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

}  // namespace h5mount
