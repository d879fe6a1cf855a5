// Divides a box of a row-major array into contiguous runs of bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "h5mount/filter/filter.h"

namespace h5mount::filter::blosc {

// Calls visit(offset, bytes) for each contiguous run of a box, in order.
template <class Visit>
Status for_each_run(const ChunkBox& box, Visit visit) {
  const std::size_t rank = box.dims.size();
  if (std::ranges::find(box.count, 0U) != box.count.end()) return {};
  // A run includes the trailing dimensions that the box covers completely.
  std::size_t outer = rank;
  std::uint64_t run = box.element_size;
  while (outer > 0) {
    --outer;
    run *= box.count[outer];
    if (box.count[outer] != box.dims[outer]) break;
  }
  std::vector<std::uint64_t> at(box.start.begin(), box.start.end());
  while (true) {
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < rank; ++d) offset = offset * box.dims[d] + at[d];
    H5_TRY(visit(static_cast<std::size_t>(offset * box.element_size), static_cast<std::size_t>(run)));
    std::size_t d = outer;
    while (d > 0 && ++at[d - 1] == box.start[d - 1] + box.count[d - 1]) {
      at[d - 1] = box.start[d - 1];
      --d;
    }
    if (d == 0) return {};
  }
}

}  // namespace h5mount::filter::blosc
