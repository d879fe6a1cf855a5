// The commands of h5mount. Each returns the program's exit code; errors have been printed.
#pragma once

#include <optional>

#include "h5mount/survive/keeper.h"
#include "words/command_line.h"

namespace h5mount::cli {

// A command over the tree without a mount.
int run_front(const FrontCommand& command);
// The same for --diff.
int run_diff(const FrontCommand& command);
// Serves until SIGTERM, which lets answers that were begun end, or SIGINT, SIGQUIT or SIGHUP, which wait half
// a second for them. `keeper`: set if this process is a server behind a keeper.
int run_serve(const ServeCommand& command, const std::optional<survive::KeeperLink>& keeper);
// Starts the keeper of a command with -o survive (h5mount/survive/keeper.h).
int run_keeper(const MountCommand& command, survive::OwnWords own);
int run_keeper(const ServeCommand& command, survive::OwnWords own);

}  // namespace h5mount::cli
