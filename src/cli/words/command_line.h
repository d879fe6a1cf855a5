// Command lines: of h5mount, of mount.h5 (mount(8)'s helper), of umount.fuse.h5mount (umount(8)'s helper) and
// of fsck.h5, and what they ask for.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "commands.h"

namespace h5mount::cli {

// A text to print before the program exits (-h, -V).
struct TextOutput {
  std::string text;
};

// The command that the words describe, of all programs but fsck.h5. Fails with InvalidValue if they are
// invalid.
using Command = std::variant<MountCommand, UnmountCommand, FrontCommand, ServeCommand, TextOutput>;
Result<Command> parse_command_line(int count, const char* const* words);
// `output`: a text to print instead of a check.
Result<FsckCommand> parse_fsck_arguments(int count, const char* const* words,
                                         std::optional<std::string>& output);

}  // namespace h5mount::cli
