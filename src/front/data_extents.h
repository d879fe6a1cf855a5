// The data and the holes of an open file, as lseek(2) reports them.
#pragma once

#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::front {

// The parts of [0, size) that are data, ascending and not adjacent; everything between reads as zeros. They
// start and end at whole pages, or at the end: file systems have no shorter holes, and GNU tar reads each
// part of a sparse member from a new block. At most `most` extents: if there are more, short holes count as
// data.
Result<std::vector<dataset::ByteRange>> data_extents(tree::OpenNode& file, std::uint64_t size,
                                                     std::size_t most);

std::uint64_t total_bytes(const std::vector<dataset::ByteRange>& extents);

}  // namespace h5mount::front
