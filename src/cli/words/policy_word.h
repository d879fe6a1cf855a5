// The option policy=.
#pragma once

#include <memory>
#include <string>

#include "h5mount/base/advice.h"
#include "h5mount/check/policy.h"

namespace h5mount::cli {

// Fails with InvalidValue if the word is no policy, or does not go with the option salvage.
Result<std::shared_ptr<const check::Policy>> policy_of_word(const std::string& word, SalvageMode salvage);

}  // namespace h5mount::cli
