// A walk over a part of the tree, depth first, each directory before its entries. Symlinks are not followed,
// and a mount has no other cycles.
#pragma once

#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::front {

// PATH_MAX minus the terminator: the longest target in a mount.
inline constexpr std::size_t kMaxSymlinkBytes = 4095;

class Visitor {
 public:
  virtual ~Visitor() = default;
  // Returns false for a directory that is not to be entered. An error ends the walk. If `found` is not a
  // directory, it may be moved from.
  virtual Result<bool> visit(FoundNode& found) = 0;
  // Called after all entries of a directory.
  virtual Status leave(const FoundNode& directory) { return (void)directory, Status{}; }
};

// Errors of directories that cannot be listed completely and of entries that cannot be looked up are passed
// to `failed`.
Status walk(const std::shared_ptr<tree::Tree>& tree, FoundNode start, Visitor& visitor,
            const FailureHandler& failed);

// The same below each path, or below the root if there are no paths; a path that does not exist is passed to
// `failed`.
Status walk_paths(const std::shared_ptr<tree::Tree>& tree, Paths paths, Visitor& visitor,
                  const FailureHandler& failed);

}  // namespace h5mount::front
