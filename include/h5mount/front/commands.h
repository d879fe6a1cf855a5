// Commands over a Tree that show what a mount would, without a mount. A command fails only if its output
// cannot be written (Output::broken) or if it cannot continue. Errors of one object are passed to `failed`,
// and the command continues with the next. Threads: a command runs in its caller's thread; several may run
// over one tree.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "h5mount/front/output.h"
#include "h5mount/tree/tree.h"

namespace h5mount::front {

// `path`: without a leading `/`, empty for the root.
using FailureHandler = std::function<void(std::string_view path, const Error& error)>;

struct Context {
  std::shared_ptr<tree::Tree> tree;
  Output& out;
  FailureHandler failed;
};

using Paths = std::span<const std::string>;  // in the form of find_path

// Writes the bytes of files, one after another.
Status cat(const Context& context, Paths paths);

// Writes one line of JSON for each path: path, type, the values of stat(2), a symlink's target, and every
// xattr. Symlinks are not followed. An object with `user.hdf5.error` has its line and is passed to `failed`.
Status stat(const Context& context, Paths paths);

// Writes a text of the whole file, or of everything below each path: structure, attributes, and for each
// dataset a digest and its first values. Files with equal contents have equal texts. Fails with
// UnsupportedFeature if built without libcrypto.
Status text(const Context& context, Paths paths);

struct ListOptions {
  // Adds the description of each object as in h5ls and, if `recursive`, its attributes.
  bool details = false;
  bool recursive = false;     // everything below, with whole paths
  bool for_terminal = false;  // control characters in names are escaped
};
// Writes the names in directories, and the names of files themselves; those in the root if there are no
// paths.
Status list(const Context& context, Paths paths, const ListOptions& options);

// Writes a pax archive: directories, files, symlinks, hard links, sparse files (GNU.sparse 1.0), xattrs as
// SCHILY.xattr. Members are named `./…` by their path in the tree. Files that cannot be read are omitted: a
// file's bytes are read before its header is written, twice if they exceed 64 MiB. Memory is bounded, except
// for the paths of datasets with several hard links. Fails with Stale if the file changed while a large
// member was written, as its header cannot be undone; the archive ends there.
Status tar(const Context& context, Paths paths);

}  // namespace h5mount::front
