// How often what failed is tried again, and after which pauses. Threads: pure functions.
#pragma once

#include "transfers.h"

namespace h5mount::remote {

inline constexpr unsigned kMaxTries = 4;

// Before the try that follows `tries` of them, the last of which got `answer`: growing, jittered, and what
// the server asks for.
std::chrono::milliseconds pause_before(unsigned tries, const HttpAnswer& answer);

}  // namespace h5mount::remote
