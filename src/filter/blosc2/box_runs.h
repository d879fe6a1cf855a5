// Divides a box of a row-major array into contiguous runs of bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "h5mount/base/row_major.h"
#include "h5mount/filter/filter.h"

namespace h5mount::filter::blosc {

// Calls visit(offset, bytes) for each contiguous run of a box, in order.
template <class Visit>
Status for_each_run(const ChunkBox& box, Visit visit) {
  if (std::ranges::find(box.count, 0U) != box.count.end()) return {};
  // A run includes the trailing dimensions that the box covers completely.
  std::size_t outer = box.dims.size();
  std::uint64_t run = box.element_size;
  while (outer > 0) {
    --outer;
    run *= box.count[outer];
    if (box.count[outer] != box.dims[outer]) break;
  }
  std::vector<std::uint64_t> at(box.start.begin(), box.start.end()), step(outer);
  do {
    for (std::size_t d = 0; d < outer; ++d) at[d] = box.start[d] + step[d];
    const std::uint64_t offset = row_major_number(at, box.dims) * box.element_size;
    H5_TRY(visit(static_cast<std::size_t>(offset), static_cast<std::size_t>(run)));
  } while (next_row_major(step, box.count.first(outer)));
  return {};
}

}  // namespace h5mount::filter::blosc
