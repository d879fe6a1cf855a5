// A walk over a part of the tree, depth first, each directory before what is in it. Symlinks are not
// followed, and a mount has no other cycles.
#pragma once

#include <string>

#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::front {

inline constexpr std::size_t kMaxSymlinkBytes = 4095;  // PATH_MAX less the terminator: what a mount shows

class Visitor {
 public:
  virtual ~Visitor() = default;
  // An error ends the walk. False for a directory that is not entered. What is no directory may be moved
  // from.
  virtual Result<bool> visit(FoundNode& found) = 0;
  // After all that is in a directory.
  virtual Status leave(const FoundNode& directory) { return (void)directory, Status{}; }
};

// Directories that cannot be listed whole and entries that cannot be looked up are passed to `failed`.
Status walk(const std::shared_ptr<tree::Tree>& tree, FoundNode start, Visitor& visitor,
            const FailureHandler& failed);

// The same below each path, the root where there are none; a path that leads nowhere is passed to `failed`.
Status walk_paths(const std::shared_ptr<tree::Tree>& tree, Paths paths, Visitor& visitor,
                  const FailureHandler& failed);

}  // namespace h5mount::front
