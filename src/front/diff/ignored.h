// What a comparison leaves out: the globs of DiffOptions::ignored. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h5mount::front {

// Whether the whole text matches: `?` is one character, `[a-z]` and `[!a-z]` are one of a set, `*` is any
// characters, `\` takes the next character as it is. `?` and sets never match `/` where `*` stops at it; `**`
// always crosses it. Time is bounded by the product of the lengths.
enum class Star : bool { StopsAtSlash, CrossesSlash };
bool glob_matches(std::string_view glob, std::string_view text, Star star);

class Ignored {
 public:
  explicit Ignored(const std::vector<std::string>& globs);

  // `path` begins with `/`. What is above it is not asked: nothing goes there below what is ignored.
  bool has(std::string_view path) const;
  // Everywhere: whatever the path is.
  enum class Attribute : std::uint8_t { Counts, IgnoredHere, IgnoredEverywhere };
  Attribute attribute(std::string_view path, std::string_view name) const;

 private:
  std::vector<std::string> paths_, attributes_;
};

}  // namespace h5mount::front
