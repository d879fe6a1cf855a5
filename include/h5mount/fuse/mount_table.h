// The kernel's mount table entry for a directory, read without a request to the file system mounted there: a
// program that hangs or has ended would not answer it.
#pragma once

#include <optional>
#include <string>

namespace h5mount::fuse {

struct MountEntry {
  std::string device;   // "0:57", as in st_dev
  std::string type;     // "fuse.h5mount"
  std::string options;  // of the file system: "ro,user_id=0,group_id=0,…"
};

// The uppermost mount on exactly this directory, whose path is absolute; symlinks in it are followed.
std::optional<MountEntry> find_mount(const std::string& directory);

}  // namespace h5mount::fuse
