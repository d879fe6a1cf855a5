#pragma once

#include <optional>

#include "../words/command_line.h"
#include "h5mount/survive/keeper.h"

namespace h5mount::cli {

// Mounts and, in the serving process, returns when the mount ends. Returns the exit code; errors have been
// printed. `keeper`: set if this process is a server of a mount that survives its servers.
int run_mount(const MountCommand& command, const std::optional<survive::KeeperLink>& keeper);
// umount(8)'s helper, installed as umount.fuse.h5mount: unmounts, and returns when the serving process has
// exited. Returns the exit code; errors have been printed.
int run_unmount(const UnmountCommand& command);

}  // namespace h5mount::cli
