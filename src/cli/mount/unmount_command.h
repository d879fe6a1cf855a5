// umount(8)'s helper, installed as umount.fuse.h5mount: unmounts, and returns when the serving process has
// exited.
#pragma once

#include "../words/commands.h"

namespace h5mount::cli {

// Returns the exit code; errors have been printed.
int run_unmount(const UnmountCommand& command);

}  // namespace h5mount::cli
