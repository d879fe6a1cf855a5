// Lets umount wait until the serving process has closed its files. umount(2) returns when the kernel has
// dropped the mount, a moment before that process notices and closes its files; unmounting the HDF5 file's
// own file system right afterwards would fail with EBUSY.
//
// The serving process listens on an abstract socket named after the mount's device number, and accepts no
// connection. Connected processes are disconnected when it exits, for whatever reason.
#pragma once

#include <chrono>
#include <string>

#include "h5mount/base/unique_fd.h"

namespace h5mount::cli {

// Called by the serving process, once the mount answers. The socket is closed when the process exits, after
// everything else. If it cannot be made, umount does not wait.
void publish_release_notice(const std::string& mountpoint);

// Used by the process that unmounts. To be made before the mount ends, because the socket's name is unknown
// afterwards.
class ReleaseWait {
 public:
  explicit ReleaseWait(const std::string& mountpoint);

  // Waits until the serving process has exited, but no longer than `most`; returns at once if there is no
  // socket.
  void await(std::chrono::milliseconds most) const;

 private:
  UniqueFd connected_;
};

}  // namespace h5mount::cli
