// Starts the keeper of a command with -o survive (h5mount/survive/keeper.h).
#pragma once

#include "h5mount/survive/keeper.h"
#include "words/command_line.h"

namespace h5mount::cli {

// Returns with the program's exit code.
int run_keeper(const MountCommand& command, survive::OwnWords own);
int run_keeper(const ServeCommand& command, survive::OwnWords own);

}  // namespace h5mount::cli
