#pragma once

#include "command_line.h"

namespace h5mount::cli {

// Mounts and, in the process that serves, stays until the mount ends. Gives the exit code; what went wrong
// has been printed.
int run_mount(const MountCommand& command);

}  // namespace h5mount::cli
