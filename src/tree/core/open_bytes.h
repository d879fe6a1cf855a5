// An open file whose bytes are followed: reads of one state each, and holes. A read that a later state
// overtook drops its own pages from the kernel's cache.
#pragma once

#include "followed_bytes.h"

namespace h5mount::tree {

// Opens `bytes`, which belong to `node`. First, the size and pages that an earlier opening left are brought
// up to date. If the bytes cannot be made, that is recorded, and the error is returned.
Result<std::shared_ptr<OpenNode>> open_bytes(NodePtr node, FollowedBytes& bytes, RequestBudget& budget);

}  // namespace h5mount::tree
