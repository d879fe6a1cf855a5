// The name that somebody who wrote `word` most likely meant.
#pragma once

#include <span>
#include <string_view>

namespace h5mount::cli {

// Of `names`, the one that `word` becomes with the fewest letters changed, added or left out: two at most,
// one in a word of four letters or fewer. Case, `_` and `-` do not count. Empty where there is none.
std::string_view near_miss(std::string_view word, std::span<const std::string_view> names);

}  // namespace h5mount::cli
