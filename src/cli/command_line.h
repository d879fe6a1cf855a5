// The words of a command, as h5mount and as mount.h5 (mount(8)'s helper), whose letters differ.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mount_options.h"

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

// Words to print and be done (-h, -V).
struct Told {
  std::string text;
};

// What the words ask for. InvalidValue: they cannot be understood.
Result<std::variant<MountCommand, Told>> parse_command_line(int count, const char* const* words);

}  // namespace h5mount::cli
