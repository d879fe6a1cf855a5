// Exit codes. mount(8) passes them on, so they have the same meaning as its own: 1 is "incorrect invocation
// or permissions", so it also stands for a file that is missing or cannot be read (66, EX_NOINPUT, would be
// the bits "some mount succeeded" and "system error"); 32 is "mount failure".
#pragma once

namespace h5mount::cli {

inline constexpr int kExitUsage = 1;
inline constexpr int kExitUnreadable = 1;
inline constexpr int kExitPartial = 1;  // without a mount: something could not be read or written
inline constexpr int kExitBadFile = 2;
inline constexpr int kExitMountFailed = 32;

}  // namespace h5mount::cli
