// fsck.h5: verifies files without mounting them. Called by hand, and by fsck(8) with its options.
#pragma once

namespace h5mount::cli {

// Exit codes of fsck(8); those of several sources are combined bit by bit.
inline constexpr int kFsckClean = 0;
inline constexpr int kFsckDamaged = 4;
inline constexpr int kFsckCouldNotRun = 8;
inline constexpr int kFsckUsage = 16;
inline constexpr int kFsckCancelled = 32;

int run_fsck(int count, const char* const* words);

}  // namespace h5mount::cli
