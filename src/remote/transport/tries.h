// The number of tries after failures, and the pauses between them. Threads: pure functions.
#pragma once

#include "transfers.h"

namespace h5mount::remote {

inline constexpr unsigned kMaxTries = 4;

// The pause after `tries` tries, the last of which got `answer`: it grows, has jitter, and is at least as
// long as the server asks for.
std::chrono::milliseconds pause_before(unsigned tries, const HttpAnswer& answer);

}  // namespace h5mount::remote
