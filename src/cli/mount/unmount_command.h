// umount(8)'s helper, installed as umount.fuse.h5mount: unmounts, and returns when the serving process has
// exited.
#pragma once

#include <string>

namespace h5mount::cli {

struct UnmountCommand {
  std::string mountpoint;  // absolute
  std::string name_space;  // another mount namespace: a process's number, or a path; else empty
  bool lazy = false;       // detached now, ended after its last use: not waited for
  bool force = false;      // pending requests fail
};

// Returns the exit code; errors have been printed.
int run_unmount(const UnmountCommand& command);

}  // namespace h5mount::cli
