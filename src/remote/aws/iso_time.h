// Times as AWS's services write them. Threads: a pure function.
#pragma once

#include <cstdint>
#include <string>

namespace h5mount::remote {

// Seconds since 1970 of "2026-11-25T01:02:03.000Z", or with "+01:00" instead of the Z; 0 if the text is no
// such time.
std::int64_t seconds_of_time(const std::string& text);

}  // namespace h5mount::remote
