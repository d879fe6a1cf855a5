// The extended attributes of a node.
#pragma once

#include <optional>
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

// The words of `user.hdf5.error` on an object, or on a file that is shown as a directory. If its
// lists, its header or the index of its chunks are damaged, the error is the one about the file's bytes.
std::optional<Error> trouble_with(tree::Tree& tree, const FoundNode& found);

}  // namespace h5mount::front
