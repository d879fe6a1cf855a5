#include "mount/command.h"
#include "test_paths.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace h5mount::test {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::filesystem::path& scratch() {
  static const std::filesystem::path place = [] {
    std::string name = (std::filesystem::temp_directory_path() / "h5mount-mount-test-XXXXXX").string();
    const char* made = ::mkdtemp(name.data());
    return std::filesystem::path(made != nullptr ? made : "");
  }();
  return place;
}

// A shell command, ended after a minute. The output goes through files, as a daemon may keep its stderr.
Outcome run(const std::string& command, int seconds) {
  const auto out = scratch() / "out", err = scratch() / "err", script = scratch() / "script";
  std::ofstream(script) << "export LC_ALL=C.UTF-8 H5MOUNT=" << H5MOUNT_PROGRAM << "\n" << command << "\n";
  const std::string whole = "timeout -k 5 " + std::to_string(seconds) + " sh " + script.string() + " >" +
                            out.string() + " 2>" + err.string() + " </dev/null";
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(out), slurp(err)};
}

int lines_in(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

std::filesystem::path example() {
  return source_root() / "tests/data/weather.h5";
}

bool is_mounted(const std::filesystem::path& place) {
  return slurp("/proc/self/mountinfo").find(" " + place.string() + " ") != std::string::npos;
}

bool wait_until_gone(const std::filesystem::path& place) {
  for (int i = 0; i < 500 && is_mounted(place); ++i) ::usleep(10'000);
  return !is_mounted(place);
}

bool wait_until_serving(const std::filesystem::path& place) {
  for (int i = 0; i < 1000; ++i) {
    struct stat root = {};
    if (is_mounted(place) && ::stat(place.c_str(), &root) == 0) {
      const std::string name =
          "@h5mount/" + std::to_string(major(root.st_dev)) + ":" + std::to_string(minor(root.st_dev));
      if ((slurp("/proc/net/unix") + "\n").find(name + "\n") != std::string::npos) return true;
    }
    ::usleep(10'000);
  }
  return false;
}

bool can_mount() {
  if (::access("/dev/fuse", R_OK | W_OK) != 0) return false;
  return ::geteuid() == 0 || run("command -v fusermount3").code == 0;
}

MountPoint::MountPoint() {
  static int counter = 0;
  place_ = scratch() / ("mnt" + std::to_string(counter++));
  std::filesystem::create_directory(place_);
}

MountPoint::~MountPoint() {
  if (is_mounted(place_)) run("umount -l " + place_.string() + " || fusermount3 -uz " + place_.string());
  std::error_code ignored;
  std::filesystem::remove(place_, ignored);
}

}  // namespace h5mount::test
