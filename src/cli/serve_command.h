#pragma once

#include "command_line.h"

namespace h5mount::cli {

// Serves until SIGTERM, which lets answers that were begun end, or SIGINT, SIGQUIT or SIGHUP, which wait half
// a second for them. Returns the exit code; errors have been printed.
int run_serve(const ServeCommand& command);

}  // namespace h5mount::cli
