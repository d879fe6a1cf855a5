// The extended attributes of a node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "h5mount/front/commands.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::front {

// All attributes, in the tree's order. Errors of attributes that cannot be read are passed to `failed`; the
// others are returned.
std::vector<std::pair<std::string, std::string>> read_xattrs(tree::Tree& tree, const FoundNode& found,
                                                             const FailureHandler& failed);

}  // namespace h5mount::front
