#include "path_pattern.h"

#include <fmt/format.h>

#include <charconv>
#include <regex>

namespace h5mount::join {

namespace {

// The search follows the states of the pattern, never the characters of the path, by calls within calls. This
// bounds them: a number of repetitions is so many copies of what is repeated.
constexpr std::uint64_t kMostPatternStates = 4000;
constexpr std::size_t kMostPathBytes = 1024;  // as a key of S3 has at most

std::uint64_t repetitions(std::string_view pattern) {
  std::uint64_t out = 1;
  for (std::size_t i = 0; i < pattern.size() && out <= kMostPatternStates; ++i) {
    if (pattern[i] < '0' || pattern[i] > '9' || i == 0 || (pattern[i - 1] != '{' && pattern[i - 1] != ','))
      continue;
    std::uint64_t number = kMostPatternStates + 1;
    (void)std::from_chars(pattern.data() + i, pattern.data() + pattern.size(), number);
    if (number > 1) out *= std::min(number, kMostPatternStates + 1);
  }
  return out;
}

Error unusable(std::string_view pattern, std::string_view why) {
  return {ErrorCode::InvalidValue, fmt::format("join: the regular expression '{}' {}", pattern, why)};
}

std::string_view reason(std::regex_constants::error_type type) {
  using namespace std::regex_constants;
  if (type == error_complexity) return "refers to a group";
  if (type == error_paren) return "has an unbalanced parenthesis";
  if (type == error_brack) return "has an unbalanced bracket";
  if (type == error_brace || type == error_badbrace) return "has a bad number in braces";
  if (type == error_badrepeat) return "repeats nothing";
  if (type == error_escape) return "has an unknown escape";
  if (type == error_range) return "has a bad range of characters";
  return "is none";
}

}  // namespace

struct PathPattern::Compiled {
  std::regex regex;
};

Result<PathPattern> PathPattern::make(std::string_view pattern) {
  if (pattern.size() * repetitions(pattern) > kMostPatternStates)
    return fail(unusable(pattern, "is too long"));
  try {
    // Polynomial: all alternatives are followed at once, so that no path takes exponential time or depth.
    std::regex made(pattern.begin(), pattern.end(),
                    std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
    if (made.mark_count() == 0) return fail(unusable(pattern, "has no group (…)"));
    return PathPattern(std::make_shared<const Compiled>(std::move(made)));
  } catch (const std::regex_error& error) {
    return fail(unusable(pattern, reason(error.code())));
  }
}

std::optional<std::string> PathPattern::first_group(std::string_view path) const {
  if (path.size() > kMostPathBytes) return std::nullopt;
  try {
    std::match_results<std::string_view::const_iterator> found;
    if (!std::regex_search(path.begin(), path.end(), found, pattern_->regex) || !found[1].matched)
      return std::nullopt;
    return found[1].str();
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

}  // namespace h5mount::join
