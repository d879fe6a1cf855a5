// Exit codes that CONTRACT promises; 32 is mount(8)'s own for a failed mount.
#pragma once

namespace h5mount::cli {

inline constexpr int kExitUsage = 1;
inline constexpr int kExitBadFile = 2;
inline constexpr int kExitMountFailed = 32;

}  // namespace h5mount::cli
