#include "nd_copy.h"

#include <algorithm>
#include <array>

#include "nd_layout.h"

namespace h5mount::filter::blosc {

void copy_box(const std::byte* from, const PlacedBox& from_box, std::byte* to, const PlacedBox& to_box,
              Extents count, std::size_t item_bytes) {
  // Trailing dimensions that the box covers completely in both arrays extend the row.
  std::size_t outer = count.size();
  std::uint64_t row = item_bytes;
  while (outer > 0) {
    --outer;
    row *= count[outer];
    if (count[outer] != from_box.dims[outer] || count[outer] != to_box.dims[outer]) break;
  }
  from += linear_index(from_box.dims, from_box.start) * item_bytes;
  to += linear_index(to_box.dims, to_box.start) * item_bytes;

  // Bytes from one index to the next in each outer dimension.
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
    std::size_t d = outer;
    while (d > 0) {
      --d;
      from += from_stride[d];
      to += to_stride[d];
      if (++at[d] < count[d]) break;
      from -= from_stride[d] * count[d];
      to -= to_stride[d] * count[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace h5mount::filter::blosc
