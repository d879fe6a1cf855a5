// The words of a command line: of h5mount, of mount.h5 (mount(8)'s helper) and of umount.fuse.h5mount
// (umount(8)'s helper), whose options differ.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mount_options.h"
#include "serve_words.h"
#include "source_words.h"
#include "unmount_command.h"

namespace h5mount::cli {

struct MountCommand {
  SourceWords sources;            // not resolved: df shows what the user wrote
  std::string mountpoint;         // absolute
  bool makes_mountpoint = false;  // none was named: it is made, and removed at the end
  MountOptions options;
  bool foreground = false;
  bool debug = false;
  bool single_thread = false;
  bool check_only = false;  // mount -f: all checks, but no mount
};

// A command over the tree without a mount.
struct FrontCommand {
  enum class Kind { List, Cat, Stat, Text, Tar, Copy };
  Kind kind = Kind::List;
  SourceWords sources;
  MountOptions options;
  std::vector<std::string> paths;           // in the tree
  std::string destination;                  // of Copy
  bool details = false, recursive = false;  // of List
  bool metadata = false;                    // of Copy: DESTINATION.jsonl has the whole file's metadata
};

struct ServeCommand {
  SourceWords sources;
  MountOptions options;
  ListenWords place;
  bool makes_token = false;
  std::string token_file;   // empty: none
  std::string cors_origin;  // empty: none
  bool s3 = false, anonymous = false;
  std::string s3_key_file, s3_host;  // empty: none
};

// A text to print before the program exits (-h, -V).
struct TextOutput {
  std::string text;
};

// The command that the words describe. Fails with InvalidValue if they are invalid.
using Command = std::variant<MountCommand, UnmountCommand, FrontCommand, ServeCommand, TextOutput>;
Result<Command> parse_command_line(int count, const char* const* words);

}  // namespace h5mount::cli
