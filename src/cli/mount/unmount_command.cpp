#include "mount_command.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../words/exit_codes.h"
#include "h5mount/base/unique_fd.h"
#include "release_notice.h"

namespace h5mount::cli {
namespace {

// A process that takes longer is waiting for a disk that does not answer.
constexpr std::chrono::seconds kLongestWait{10};

// Users unmount their own mounts through fusermount3, which is setuid and prints its own errors. Returns the
// exit code.
int unmount_as_user(const UnmountCommand& command) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("fusermount3", "fusermount3", command.lazy ? "-uz" : "-u", "--", command.mountpoint.c_str(),
             nullptr);
    print_error(command.mountpoint,
                std::string("fusermount3 cannot be run: ") + std::strerror(errno) + "; install fuse3");
    ::_exit(kExitMountFailed);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : kExitMountFailed;
}

int unmount(const UnmountCommand& command) {
  const int flags = (command.lazy ? MNT_DETACH : 0) | (command.force ? MNT_FORCE : 0);
  if (::umount2(command.mountpoint.c_str(), flags) == 0) return 0;
  if (errno == EPERM) return unmount_as_user(command);
  const bool busy = errno == EBUSY;
  return print_error(command.mountpoint,
                     "cannot be unmounted: " + std::string(std::strerror(errno)) +
                         (busy ? "; see who uses it with fuser -m, or detach it with umount -l" : ""),
                     kExitMountFailed);
}

bool enter_mount_namespace(const std::string& name) {
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  const std::string path = number ? "/proc/" + name + "/ns/mnt" : name;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const bool entered = file && ::setns(file.get(), CLONE_NEWNS) == 0;
  if (!entered)
    print_error(name, std::string("the mount namespace cannot be entered: ") + std::strerror(errno) +
                          "; as root it can");
  return entered;
}

}  // namespace

int run_unmount(const UnmountCommand& command) {
  if (!command.name_space.empty() && !enter_mount_namespace(command.name_space)) return kExitMountFailed;
  const ReleaseWait release(command.mountpoint);
  const int code = unmount(command);
  if (code == 0 && !command.lazy) release.await(kLongestWait);
  return code;
}

}  // namespace h5mount::cli
