// How umount learns that the process behind a mount has let go of its files. umount(2) comes back when the
// kernel has dropped the mount, a moment before that process notices and closes what it had open; whoever
// then unmounts the file system that the HDF5 file lies on is told that it is busy.
//
// The serving process listens on an abstract socket that has the mount's device number for a name, and
// accepts nobody. Whoever is connected is cut off when that process ends, whatever it ends of.
#pragma once

#include <chrono>
#include <string>

namespace h5mount::cli {

// In the serving process, once the mount answers. The socket is closed by the end of the process, after
// everything else. Where it cannot be made, umount does not wait.
void publish_release_notice(const std::string& mountpoint);

// In the process that unmounts. Made before the mount ends, as its name ends with it.
class ReleaseWait {
 public:
  explicit ReleaseWait(const std::string& mountpoint);
  ~ReleaseWait();
  ReleaseWait(const ReleaseWait&) = delete;
  ReleaseWait& operator=(const ReleaseWait&) = delete;

  // Until the serving process has ended, `most` at most; at once where it published nothing.
  void await(std::chrono::milliseconds most) const;

 private:
  int connected_ = -1;
};

}  // namespace h5mount::cli
