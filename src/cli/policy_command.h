// fsck.h5 --policy: whether files may be opened (h5mount/check/verdict.h).
#pragma once

#include <string>
#include <vector>

#include "words/commands.h"

namespace h5mount::cli {

// Judges the sources, several at once, and prints a verdict for each in their order. Returns the exit code:
// the worst of check::VerdictCode. `options`: how sources are opened; nothing that they name is.
int run_policy(const FsckCommand& command, MountOptions options, const std::vector<std::string>& sources);

}  // namespace h5mount::cli
