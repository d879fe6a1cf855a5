// GridOrder maps scaled chunk coordinates to an array's element number and back: row-major over the numbers
// of chunks in the *maximum* extents, with the unlimited dimension (of an extensible array) moved to the
// front.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "h5mount/chunk/chunk_index.h"

namespace h5mount::chunk {

class GridOrder {
 public:
  // `unlimited`: whether there must be exactly one unlimited dimension (extensible array), or none.
  static Result<GridOrder> make(const ChunkGeometry& geometry, bool unlimited);

  std::size_t rank() const { return strides_.size(); }
  std::uint64_t stride(std::size_t dimension) const { return strides_[dimension]; }

  std::uint64_t number(std::span<const std::uint64_t> scaled) const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < strides_.size(); ++i) n += scaled[i] * strides_[i];
    return n;
  }
  // Writes the coordinates of element `number`; returns false if they lie outside the current grid.
  bool scaled(std::uint64_t number, std::span<std::uint64_t> out) const;

  // The highest element number of the current grid plus one; 0 if the grid is empty.
  std::uint64_t end() const { return end_; }

 private:
  std::vector<std::uint64_t> strides_;      // by dimension
  std::vector<std::size_t> slowest_first_;  // dimensions by decreasing stride
  std::vector<std::uint64_t> grid_;
  std::uint64_t end_ = 0;
};

}  // namespace h5mount::chunk
