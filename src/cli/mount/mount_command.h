#pragma once

#include <optional>

#include "../keeper.h"
#include "../words/command_line.h"

namespace h5mount::cli {

// Mounts and, in the serving process, returns when the mount ends. Returns the exit code; errors have been
// printed. `kept`: set if this process is a server of a mount that survives its servers.
int run_mount(const MountCommand& command, const std::optional<KeptServer>& kept);

}  // namespace h5mount::cli
