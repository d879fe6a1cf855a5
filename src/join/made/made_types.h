// Types and attributes that a made file has of its own. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "h5mount/join/made_file.h"

namespace h5mount::join {

format::DatatypePtr reference_type();  // to objects
format::DatatypePtr sequence_type(format::DatatypePtr base);
// `bytes`: of fixed length, filled up by NUL; 0: of variable length.
format::DatatypePtr string_type(std::uint32_t bytes, format::CharacterSet charset);

// ASCII where that is enough.
format::CharacterSet charset_of(std::string_view text);

// Strings of variable length.
MadeValue string_values(std::span<const std::string> texts);

// Terminated: of fixed length with a NUL at the end, as the library of dimension scales asks for.
enum class TextForm : std::uint8_t { Fixed, Terminated, Variable };
// A single string. Of no fixed length if it is empty or very long.
MadeAttribute text_attribute(std::string_view name, std::string_view text, TextForm form);

void store_number(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, std::size_t width);

}  // namespace h5mount::join
