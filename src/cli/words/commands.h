// The commands that command lines ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "h5mount/front/diff.h"
#include "mount_options.h"
#include "serve_arguments.h"
#include "source_arguments.h"

namespace h5mount::cli {

struct MountCommand {
  SourceArguments sources;        // not resolved: df shows what the user wrote
  std::string mountpoint;         // absolute
  bool makes_mountpoint = false;  // none was named: it is made, and removed at the end
  MountOptions options;
  bool foreground = false;
  bool debug = false;
  bool single_thread = false;
  bool check_only = false;  // mount -f: all checks, but no mount
};

struct UnmountCommand {
  std::string mountpoint;  // absolute
  std::string name_space;  // another mount namespace: a process's number, or a path; else empty
  bool lazy = false;       // detached now, ended after its last use: not waited for
  bool force = false;      // pending requests fail
};

// A command over the tree without a mount.
struct FrontCommand {
  enum class Kind { List, Cat, Stat, Text, Tar, Copy, Diff };
  Kind kind = Kind::List;
  SourceArguments sources;
  MountOptions options;
  std::vector<std::string> paths;           // in the tree
  std::string destination;                  // of Copy
  bool details = false, recursive = false;  // of List
  bool metadata = false;                    // of Copy: DESTINATION.jsonl has the whole file's metadata
  SourceArguments other;                    // of Diff: what `sources` is compared with
  front::DiffOptions diff;                  // of Diff; `threads` is not set
};

struct ServeCommand {
  SourceArguments sources;
  MountOptions options;
  ListenAddress place;
  bool makes_token = false;
  std::string token_file;   // empty: none
  std::string cors_origin;  // empty: none
  bool s3 = false, anonymous = false;
  std::string s3_key_file, s3_host;  // empty: none
};

struct FsckCommand {
  std::vector<std::string> sources;
  bool quiet = false;  // findings only
  bool quick = false;
  bool json = false;
  bool references = false;  // the sources are references, which are held against the files that they are of
  bool checksums = false;   // SHA-256 of datasets to stdout, findings to stderr
  std::optional<std::string> policy;  // judge the sources: untrusted, trusted, or a policy's file
  bool salvage = false;               // tell what the option salvage would find, and check what it shows
  bool salvage_far = false;           // also of a URL
  bool progress = false;
  int progress_descriptor = -1;      // -C FD: lines as fsck(8) reads them; -1: a bar on stderr
  unsigned threads = 0;              // 0: one for each core
  std::vector<std::string> options;  // as h5mount has them after -o
};

}  // namespace h5mount::cli
