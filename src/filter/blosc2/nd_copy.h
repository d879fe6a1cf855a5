// Boxes of row-major arrays: walking their grid and copying one into another.
#pragma once

#include <span>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::filter::blosc {

using Extents = std::span<const std::uint64_t>;

// Advances `at` through [first, last) of each dimension in row-major order; returns false after the last
// position.
inline bool step_box(std::span<std::uint64_t> at, Extents first, Extents last) {
  for (std::size_t d = at.size(); d-- > 0;) {
    if (++at[d] < last[d]) return true;
    at[d] = first[d];
  }
  return false;
}

// A box within an array held in memory.
struct PlacedBox {
  Extents dims;   // dimensions of the array, in elements
  Extents start;  // first element of the box
};

// Copies a box of `count` elements of `item_bytes`.
void copy_box(const std::byte* from, const PlacedBox& from_box, std::byte* to, const PlacedBox& to_box,
              Extents count, std::size_t item_bytes);

}  // namespace h5mount::filter::blosc
