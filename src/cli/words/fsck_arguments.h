// The command line of fsck.h5.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::cli {

struct FsckCommand {
  std::vector<std::string> sources;
  bool quiet = false;  // findings only
  bool quick = false;
  bool json = false;
  bool checksums = false;    // SHA-256 of datasets to stdout, findings to stderr
  bool salvage = false;      // tell what the option salvage would find, and check what it shows
  bool salvage_far = false;  // also of a URL
  bool progress = false;
  int progress_descriptor = -1;      // -C FD: lines as fsck(8) reads them; -1: a bar on stderr
  unsigned threads = 0;              // 0: one for each core
  std::vector<std::string> options;  // as h5mount has them after -o
};

// `said`: a text to print instead of a check.
Result<FsckCommand> parse_fsck_words(int count, const char* const* words, std::optional<std::string>& said);

}  // namespace h5mount::cli
