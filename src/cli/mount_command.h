#pragma once

#include "command_line.h"

namespace h5mount::cli {

// Mounts and, in the serving process, returns when the mount ends. Returns the exit code; errors have been
// printed.
int run_mount(const MountCommand& command);

}  // namespace h5mount::cli
