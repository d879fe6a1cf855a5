// fsck.h5: verifies files without mounting them. Called by hand, and by fsck(8) with its options.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// Exit codes of fsck(8); those of several sources are combined bit by bit.
inline constexpr int kFsckClean = 0;
inline constexpr int kFsckDamaged = 4;
inline constexpr int kFsckCouldNotRun = 8;
inline constexpr int kFsckUsage = 16;
inline constexpr int kFsckCancelled = 32;

struct FsckCommand {
  std::vector<std::string> sources;
  bool quiet = false;  // findings only
  bool quick = false;
  bool json = false;
  bool checksums = false;  // SHA-256 of datasets to stdout, findings to stderr
  bool salvage = false;    // tell what the option salvage would find, and check what it shows
  bool progress = false;
  int progress_descriptor = -1;  // -C FD: lines as fsck(8) reads them; -1: a bar on stderr
  unsigned threads = 0;          // 0: one a core
  std::string external;          // as the mount option
};

int run_fsck(int count, const char* const* words);

}  // namespace h5mount::cli
