// The name that the user most likely meant by a misspelt word.
#pragma once

#include <span>
#include <string_view>

namespace h5mount::cli {

// The one of `names` with the fewest letters to change, add or remove from `word`: at most two, or one in a
// word of four letters or fewer. Case, `_` and `-` are ignored. Empty if there is none.
std::string_view suggestion(std::string_view word, std::span<const std::string_view> names);

}  // namespace h5mount::cli
