// An open file whose bytes are followed: reads of one state each, and holes.
#pragma once

#include "followed_bytes.h"

namespace h5mount::tree {

// `bytes` belong to `node`. A size and pages that an earlier opening left are brought up to date first. Fails
// where the bytes cannot be made, which is recorded.
Result<std::shared_ptr<OpenNode>> open_bytes(NodePtr node, FollowedBytes& bytes, RequestBudget& budget);

}  // namespace h5mount::tree
