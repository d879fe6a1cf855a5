// Whether the bytes of a node of the tree come from the mounted file alone, so that they are the same as long
// as that file is.
#pragma once

#include "h5mount/front/path_walk.h"

namespace h5mount::front {

// `found`: a file of the tree, of a view too. False for virtual datasets, for those with external raw data,
// for what lies in other files, and where it is not known.
bool has_own_data(const std::shared_ptr<tree::Tree>& tree, const FoundNode& found);

}  // namespace h5mount::front
