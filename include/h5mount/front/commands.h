// What a mount shows, without one: commands over a Tree. Each gives an error only where its output took no
// more (Output::broken) or where nothing can go on; what concerns one object is passed to `failed`, and the
// command goes on with the next. Threads: a command runs on its caller's; several may run over one tree.
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

using Paths = std::span<const std::string>;  // as find_path takes them

// The bytes of files, one after another.
Status cat(const Context& context, Paths paths);

// A line of JSON each: path, type, what stat(2) gives, a symlink's target, and every xattr. Symlinks are not
// followed.
Status stat(const Context& context, Paths paths);

struct ListOptions {
  bool details = false;       // what h5ls says of each object, and its attributes where `recursive`
  bool recursive = false;     // everything below, by whole paths
  bool for_terminal = false;  // control characters in names are escaped
};
// The names in directories, and files themselves; the root where there are no paths.
Status list(const Context& context, Paths paths, const ListOptions& options);

// A pax archive: directories, files, symlinks, hard links, sparse files (GNU.sparse 1.0), xattrs as
// SCHILY.xattr. Members are named `./…` by their place in the tree. What cannot be read is left out: a file's
// bytes are read before its header is written, twice where they are over 64 MiB. Memory is bounded but for
// the paths of datasets with several hard links. Stale: the file changed while a large member was written,
// whose header cannot be taken back; the archive ends there.
Status tar(const Context& context, Paths paths);

}  // namespace h5mount::front
