#include "nd_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "h5mount/base/row_major.h"
#include "nd_layout.h"

namespace h5mount::filter::blosc {

void copy_box(const std::byte* from, const PlacedBox& from_box, std::byte* to, const PlacedBox& to_box,
              Extents count, std::size_t item_bytes) {
  // A row includes the trailing dimensions that the box covers completely in both arrays.
  std::size_t outer = count.size();
  std::uint64_t row = item_bytes;
  while (outer > 0) {
    --outer;
    row *= count[outer];
    if (count[outer] != from_box.dims[outer] || count[outer] != to_box.dims[outer]) break;
  }
  from += row_major_number(from_box.start, from_box.dims) * item_bytes;
  to += row_major_number(to_box.start, to_box.dims) * item_bytes;

  // The number of bytes from one index to the next in each outer dimension.
  std::array<std::uint64_t, kMaxDimensions> from_stride;
  std::array<std::uint64_t, kMaxDimensions> to_stride;
  std::array<std::uint64_t, kMaxDimensions> at;
  std::fill_n(at.begin(), outer, 0);
  std::uint64_t from_step = item_bytes;
  std::uint64_t to_step = item_bytes;
  for (std::size_t d = count.size(); d-- > 0;) {
    from_stride[d] = from_step;
    to_stride[d] = to_step;
    from_step *= from_box.dims[d];
    to_step *= to_box.dims[d];
  }
  while (true) {
    std::memcpy(to, from, row);
    const auto moved = next_row_major(std::span(at).first(outer), count.first(outer));
    if (!moved) return;
    from += from_stride[*moved];
    to += to_stride[*moved];
    for (std::size_t d = *moved + 1; d < outer; ++d) {
      from -= from_stride[d] * (count[d] - 1);
      to -= to_stride[d] * (count[d] - 1);
    }
  }
}

}  // namespace h5mount::filter::blosc
