// Real commands and the real program, as a user has them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/corpus.h"

namespace h5mount::test {

struct Outcome {
  int code = -1;  // 128 and more: the signal
  std::string out, err;
};

std::string slurp(const std::filesystem::path& path);

// The program's directory for files and mount points, removed by no one.
const std::filesystem::path& scratch();

// The interpreter, as the first word of a command.
inline std::string python() {
  return std::string(kPython) + " ";
}

// A shell command in which $H5MOUNT is the program, ended after so many seconds.
Outcome run(const std::string& command, int seconds = 60);

int lines_in(const std::string& text);
std::filesystem::path example();

bool is_mounted(const std::filesystem::path& place);
bool wait_until_gone(const std::filesystem::path& place);

// Waits until the program has seen that its mount answers: its socket for umount is there
// (src/cli/mount/release_notice.h). One that is killed before may wait for its own answer for ever.
bool wait_until_serving(const std::filesystem::path& place);

bool can_mount();

// A fresh mount point, unmounted and removed at the end whatever happens.
class MountPoint {
 public:
  MountPoint();
  ~MountPoint();
  MountPoint(const MountPoint&) = delete;
  MountPoint& operator=(const MountPoint&) = delete;

  std::string path(const std::string& below = {}) const {
    return below.empty() ? place_.string() : (place_ / below).string();
  }
  bool mounted() const { return is_mounted(place_); }
  bool gone() const { return wait_until_gone(place_); }
  Outcome mount(const std::filesystem::path& file, const std::string& options = {}) const {
    return run("$H5MOUNT " + options + " '" + file.string() + "' " + path());
  }
  // A command in the mount's root.
  Outcome in(const std::string& command) const { return run("cd " + path() + " && " + command); }

 private:
  std::filesystem::path place_;
};

}  // namespace h5mount::test

#define H5MOUNT_NEEDS_FUSE() \
  if (!::h5mount::test::can_mount()) GTEST_SKIP() << "no /dev/fuse that may be used"
// fusermount3 makes one too, to unmount what a killed server leaves. Not in a chroot whose root is no mount
// point.
#define H5MOUNT_NEEDS_NAMESPACES() \
  if (::h5mount::test::run("unshare -m true").code != 0) GTEST_SKIP() << "no mount namespaces here"
#define H5MOUNT_NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "not root"
