// Exit codes, which mount(8) passes on: they mean what its manual says of its own. 1 is "incorrect invocation
// or permissions", so it is also for a file that is missing or cannot be read (66, EX_NOINPUT, would read as
// its bits "some mount succeeded" and "system error"); 32 is "mount failure".
#pragma once

namespace h5mount::cli {

inline constexpr int kExitUsage = 1;
inline constexpr int kExitUnreadable = 1;
inline constexpr int kExitPartial = 1;  // without a mount: something could not be read or written
inline constexpr int kExitBadFile = 2;
inline constexpr int kExitMountFailed = 32;

}  // namespace h5mount::cli
