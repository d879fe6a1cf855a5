// umount(8)'s helper, by the name umount.fuse.h5mount: unmounts, and comes back when the serving process has
// ended.
#pragma once

#include <string>

namespace h5mount::cli {

struct UnmountCommand {
  std::string mountpoint;  // absolute
  std::string name_space;  // a mount namespace other than our own: a process's number, or a path; else empty
  bool lazy = false;       // detached now, ended when nobody uses it any more: not waited for
  bool force = false;      // what is being asked of it fails
};

// Gives the exit code; what went wrong has been printed.
int run_unmount(const UnmountCommand& command);

}  // namespace h5mount::cli
