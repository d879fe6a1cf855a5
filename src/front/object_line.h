// What h5ls says of an object, from what the tree shows of it.
#pragma once

#include <string>

#include "h5mount/front/path_walk.h"

namespace h5mount::front {

// `name`, kind, and by kind: a symlink's target; a dataset's type, shape, chunks and filters; a file's size;
// and why an object cannot be read. A line each for its attributes where they are asked for.
std::string object_line(tree::Tree& tree, const FoundNode& found, const std::string& name, bool attributes);

}  // namespace h5mount::front
