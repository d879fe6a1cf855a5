// What the kernel says is mounted on a directory, without asking the file system there: one whose program
// hangs or has ended answers nothing.
#pragma once

#include <optional>
#include <string>

namespace h5mount::fuse {

struct MountEntry {
  std::string device;   // "0:57", as st_dev has it
  std::string type;     // "fuse.h5mount"
  std::string options;  // of the file system: "ro,user_id=0,group_id=0,…"
};

// The uppermost mount on exactly this directory, whose path is absolute; symlinks in it are followed.
std::optional<MountEntry> find_mount(const std::string& directory);

}  // namespace h5mount::fuse
