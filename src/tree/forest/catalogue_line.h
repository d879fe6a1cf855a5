// A line of a catalogue: an object of strict JSON, taken apart without being trusted: it may come from a
// store that others wrote to, or be the beginning of one that is too long to be held. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace h5mount::tree {

// Longer lines have in the table what their beginning tells, and are not remembered.
inline constexpr std::size_t kMaxLineBytes = 16U << 20;

// Texts of JSON, in the line; empty: there is none.
struct CatalogueLine {
  std::string_view path, kind, shape, dtype, size, mtime, attributes, value, error;
  bool whole = false;  // false: it ends before the end of the object
};

// Nothing where the line is not JSON, or not an object that begins with its path.
std::optional<CatalogueLine> take_apart(std::string_view line);

// Of a JSON string, the bytes that it stands for. What UTF-8 has no form for (half a surrogate pair, by which
// bytes that are not UTF-8 are written) stays as it is written.
std::string unescaped(std::string_view json_string);

}  // namespace h5mount::tree
