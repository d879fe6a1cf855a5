#pragma once

#include "words/command_line.h"

namespace h5mount::cli {

// Runs a command over the tree without a mount. Returns the exit code; errors have been printed.
int run_front(const FrontCommand& command);

}  // namespace h5mount::cli
