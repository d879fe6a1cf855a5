#pragma once

#include "h5mount/survive/keeper.h"
#include "words/command_line.h"

namespace h5mount::cli {

// Serves until SIGTERM, which lets answers that were begun end, or SIGINT, SIGQUIT or SIGHUP, which wait half
// a second for them. Returns the exit code; errors have been printed. `keeper`: set if this process is a
// server behind a keeper.
int run_serve(const ServeCommand& command, const std::optional<survive::KeeperLink>& keeper);

}  // namespace h5mount::cli
