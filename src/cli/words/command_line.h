// The words of a command line: of h5mount, of mount.h5 (mount(8)'s helper) and of umount.fuse.h5mount
// (umount(8)'s helper), whose options differ.
#pragma once

#include <string>
#include <variant>

#include "commands.h"

namespace h5mount::cli {

// A text to print before the program exits (-h, -V).
struct TextOutput {
  std::string text;
};

// The command that the words describe. Fails with InvalidValue if they are invalid.
using Command = std::variant<MountCommand, UnmountCommand, FrontCommand, ServeCommand, TextOutput>;
Result<Command> parse_command_line(int count, const char* const* words);

}  // namespace h5mount::cli
