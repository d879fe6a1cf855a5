// The kernel's table of mounts, read without a request to a file system that is mounted: a program that hangs
// or has ended would not answer it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace h5mount {

struct MountEntry {
  std::uint64_t number = 0;
  std::string device;   // "0:57", as in st_dev
  std::string root;     // of the mount, within its file system
  std::string place;    // where it is mounted
  std::string type;     // "fuse.h5mount"
  std::string options;  // of the file system: "ro,user_id=0,group_id=0,…"
};

// /proc/self/mountinfo, below `root`; later mounts come later.
std::vector<MountEntry> read_mount_table(const std::string& root = {});

// The uppermost mount on exactly this directory, whose path is absolute; symlinks in it are followed.
std::optional<MountEntry> find_mount(const std::string& directory);

}  // namespace h5mount
