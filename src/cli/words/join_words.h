// The options join=, join_order=, join_conflict= and join_gap=.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/join/options.h"

namespace h5mount::cli {

// As they are given; empty: not given.
struct JoinWords {
  std::string axis, order, conflict, gap;
};

// Whether the text is one that the option may have; of the axis it need not be empty alone.
bool is_join_word(std::string JoinWords::* word, std::string_view text);

// Fails with InvalidValue if there is no axis, or none that can be understood.
Result<join::Options> join_options(const JoinWords& words);

}  // namespace h5mount::cli
