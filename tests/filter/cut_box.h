// Copies a box out of a decoded chunk element by element: the reference for decoding in parts.
#pragma once

#include <vector>

#include "h5mount/filter/filter.h"

namespace h5mount::test {

inline std::vector<std::byte> cut_box(ByteSpan chunk, const filter::ChunkBox& box) {
  std::vector<std::byte> out;
  std::vector<std::uint64_t> at(box.start.begin(), box.start.end());
  for (bool more = true; more;) {
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset = offset * box.dims[d] + at[d];
    const ByteSpan element = chunk.subspan(offset * box.element_size, box.element_size);
    out.insert(out.end(), element.begin(), element.end());
    more = false;
    for (std::size_t d = at.size(); d-- > 0 && !more;) {
      more = ++at[d] < box.start[d] + box.count[d];
      if (!more) at[d] = box.start[d];
    }
  }
  return out;
}

}  // namespace h5mount::test
