#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fusermount.h"
#include "h5mount/base/mount_table.h"
#include "h5mount/base/text.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/fuse/session.h"

namespace h5mount::fuse {
namespace {

constexpr const char* kDevice = "/dev/fuse";
constexpr std::string_view kHanded = "/dev/fd/";

Status trouble(std::string text) {
  return fail(Error(ErrorCode::Io, std::move(text)));
}

bool has_type_on(const std::string& mountpoint, std::string_view type) {
  const auto mounted = find_mount(mountpoint);
  return mounted && mounted->type.starts_with(type);
}

std::string ending_command(const std::string& mountpoint) {
  return (::geteuid() == 0 ? "umount " : "fusermount3 -u ") + mountpoint;
}

// A second mount would hide the first: almost always a command that was given twice. Over any other file
// system (an automount, a container's volume) a mount is allowed, as mount(8) allows it.
Status check_not_mounted(const std::string& mountpoint) {
  if (!has_type_on(mountpoint, "fuse.h5mount")) return {};
  return trouble(mountpoint + " already has an h5mount file system on it; end that one first: " +
                 ending_command(mountpoint));
}

Status not_reached(const std::string& mountpoint, int reason) {
  const std::string place = "mount point " + mountpoint;
  if (reason == ENOENT) return trouble(place + " does not exist: mkdir -p " + mountpoint);
  if (reason == ENOTCONN) {
    return trouble(place + " has a dead FUSE file system on it, whose program has ended; remove it: " +
                   ending_command(mountpoint));
  }
  if (reason == EACCES && has_type_on(mountpoint, "fuse")) {
    return trouble(place + " has a FUSE file system of another user on it: that user can end it");
  }
  if (reason == EACCES) {
    return trouble(fmt::format("{}: a directory above it may not be searched by user {}: choose another",
                               place, ::geteuid()));
  }
  return trouble(place + ": " + std::strerror(reason));
}

std::string group_name(gid_t gid) {
  const struct group* const group = ::getgrgid(gid);
  return group != nullptr ? group->gr_name : std::to_string(gid);
}

std::string device_cure(int reason, const struct stat& device) {
  constexpr mode_t kGroupMayOpen = 0060;
  if (reason == EPERM) return "the container has not been given it: start it with --device /dev/fuse";
  if (reason == ENODEV || reason == ENXIO) return "the kernel has no FUSE: modprobe fuse";
  if (reason != EACCES) return std::strerror(reason);
  const std::string mode = fmt::format("its mode is {:04o}: ", device.st_mode & 07777);
  if ((device.st_mode & kGroupMayOpen) == kGroupMayOpen) {
    return mode + "be in its group " + group_name(device.st_gid) + ", or, as root, chmod 666 /dev/fuse";
  }
  return mode + "as root, chmod 666 /dev/fuse";
}

// Checks that a descriptor that was handed over is open on /dev/fuse.
Status check_handed(int fd) {
  constexpr unsigned kMajor = 10, kMinor = 229;  // of /dev/fuse, in every kernel
  struct stat device = {};
  const std::string name = fmt::format("{}{}", kHanded, fd);
  const std::string cure =
      ": whoever starts h5mount on it opens /dev/fuse, mounts it, and leaves the descriptor open";
  if (::fstat(fd, &device) != 0) return trouble("mount point " + name + " is not an open descriptor" + cure);
  if (!S_ISCHR(device.st_mode) || device.st_rdev != makedev(kMajor, kMinor))
    return trouble("mount point " + name + " is not a descriptor of /dev/fuse" + cure);
  return {};
}

}  // namespace

Status check_device() {
  struct stat device = {};
  if (::stat(kDevice, &device) != 0) {
    return trouble(
        "there is no /dev/fuse here: modprobe fuse, or start the container with --device /dev/fuse");
  }
  if (const UniqueFd device_file(::open(kDevice, O_RDWR | O_CLOEXEC)); !device_file) {
    const int reason = errno;
    return trouble(fmt::format("{} cannot be opened ({}); {}", kDevice, std::strerror(reason),
                               device_cure(reason, device)));
  }
  return {};
}

std::optional<int> handed_descriptor(const std::string& mountpoint) {
  if (!mountpoint.starts_with(kHanded)) return std::nullopt;
  const auto out = parse_whole<int>(std::string_view(mountpoint).substr(kHanded.size()));
  return out >= 0 ? out : std::nullopt;  // nothing is less than any number
}

Status check_mountpoint(const std::string& mountpoint) {
  if (const auto fd = handed_descriptor(mountpoint)) return check_handed(*fd);
  struct stat place = {};
  if (::stat(mountpoint.c_str(), &place) != 0) return not_reached(mountpoint, errno);
  // The kernel may still have the attributes of a dead mount cached; statfs is never cached.
  struct statfs file_system = {};
  if (has_type_on(mountpoint, "fuse") && ::statfs(mountpoint.c_str(), &file_system) != 0) {
    return not_reached(mountpoint, errno);
  }
  if (!S_ISDIR(place.st_mode))
    return trouble("mount point " + mountpoint + " is not a directory: name an existing one");
  H5_TRY(check_not_mounted(mountpoint));
  return find_fusermount() ? Status{} : check_device();
}

}  // namespace h5mount::fuse
