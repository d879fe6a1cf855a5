#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "h5mount/fuse/session.h"

namespace h5mount {
namespace {

constexpr const char* kDevice = "/dev/fuse";

Status trouble(std::string text) { return fail(Error(ErrorCode::Io, std::move(text))); }

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The type of the uppermost mount on exactly this directory; empty where it is none.
std::string mounted_type(const std::string& mountpoint) {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string type;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, place, word;
    fields >> id >> parent >> device >> root >> place;
    if (unescape(place) != mountpoint) continue;
    while (fields >> word && word != "-") {
    }
    fields >> type;
  }
  return type;
}

// A second mount would hide the first: almost always a command given twice. Over anything else (an automount, a
// container's volume) mounting is as good as it is for mount(8).
Status check_not_mounted(const std::string& mountpoint) {
  char* const real = ::realpath(mountpoint.c_str(), nullptr);
  const std::string place = real != nullptr ? real : mountpoint;
  std::free(real);
  if (mounted_type(place).starts_with("fuse.h5mount")) {
    return trouble(mountpoint + " already has an h5mount file system on it (umount it first)");
  }
  return {};
}

Status check_device() {
  struct stat device = {};
  if (::stat(kDevice, &device) != 0) {
    return trouble("there is no /dev/fuse here (modprobe fuse, or give the container --device /dev/fuse)");
  }
  const int fd = ::open(kDevice, O_RDWR | O_CLOEXEC);
  if (fd < 0) return trouble(std::string(kDevice) + " cannot be opened: " + std::strerror(errno));
  ::close(fd);
  return {};
}

}  // namespace

Status check_mountpoint(const std::string& mountpoint) {
  struct stat place = {};
  if (::stat(mountpoint.c_str(), &place) != 0) {
    const int reason = errno;
    if (reason == ENOTCONN) {
      return trouble(mountpoint + " has a dead FUSE file system on it (umount it first)");
    }
    return trouble("mount point " + mountpoint + ": " + std::strerror(reason));
  }
  if (!S_ISDIR(place.st_mode)) return trouble("mount point " + mountpoint + " is not a directory");
  H5_TRY(check_not_mounted(mountpoint));
  return check_device();
}

}  // namespace h5mount
