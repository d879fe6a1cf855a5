// Bytes that no structure of the format has: in front of the superblock, behind the end, and between.
#pragma once

#include "../walk.h"
#include "findings.h"

namespace h5mount::check {

// `strict`: as in Policy. `whole`: whether the walk has met all that has bytes of the file; else those of the
// rest are not told of as unaccounted. To be called at the end of a walk.
void judge_foreign_bytes(const Walk& walk, bool strict, bool whole, Tally& tally, Findings& findings);

}  // namespace h5mount::check
