// A line of a catalogue: an object of strict JSON, parsed without being trusted: it may come from a store
// that others wrote to, or be the beginning of a line that is too long to be held. Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace h5mount::tree {

// For a longer line the table has only what its beginning contains, and the line is not remembered.
inline constexpr std::size_t kMaxLineBytes = 16U << 20;

// JSON texts, which lie in the line; empty if the line has no such member.
struct CatalogueLine {
  std::string_view path, kind, shape, dtype, size, mtime, attributes, value, error;
  bool whole = false;  // false: it ends before the end of the object
};

// Returns nullopt if the line is not JSON, or not an object that begins with its path.
std::optional<CatalogueLine> take_apart(std::string_view line);

// The bytes that a JSON string stands for. Escapes that UTF-8 cannot express (half a surrogate pair, which
// stands for bytes that are not UTF-8) are left as they are.
std::string unescaped(std::string_view json_string);

}  // namespace h5mount::tree
