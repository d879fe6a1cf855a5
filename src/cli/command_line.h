// The words of a command, as h5mount, as mount.h5 (mount(8)'s helper) and as umount.fuse.h5mount
// (umount(8)'s), whose letters differ.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mount_options.h"
#include "unmount_command.h"

namespace h5mount::cli {

struct MountCommand {
  std::string file;        // absolute, not resolved: what df shows is what was said
  std::string mountpoint;  // absolute
  MountOptions options;
  bool foreground = false;
  bool debug = false;
  bool single_thread = false;
  bool check_only = false;  // mount -f: go through the motions
};

// A command over the tree without a mount.
struct FrontCommand {
  enum class Kind { List, Cat, Stat, Tar, Copy };
  Kind kind = Kind::List;
  std::string file;  // absolute
  MountOptions options;
  std::vector<std::string> paths;           // in the tree
  std::string destination;                  // of Copy
  bool details = false, recursive = false;  // of List
};

// Words to print and be done (-h, -V).
struct Told {
  std::string text;
};

// What the words ask for. InvalidValue: they cannot be understood.
using Command = std::variant<MountCommand, UnmountCommand, FrontCommand, Told>;
Result<Command> parse_command_line(int count, const char* const* words);

}  // namespace h5mount::cli
