// The metalayer that makes a frame an n-dimensional array, under the name `b2nd` or, by its older author,
// `caterva`:
//
//   array of 7 (caterva: 5): version | rank | shape, i64 each | chunk shape, i32 each | block shape, i32 each
//                            | format and text of the dtype (b2nd only; from HDF5 it says nothing)
//
// Inner chunks: a grid of ceil(shape / chunk shape), row-major, each stored whole. In a chunk blocks: its
// shape rounded up to blocks, row-major over the grid, each block whole and row-major. What lies outside the
// chunk's shape or the array's is padding.
#pragma once

#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::filter::blosc {

inline constexpr std::size_t kMostDimensions = 127;  // a positive fixnum

struct NdLayout {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk_shape;
  std::vector<std::uint64_t> block_shape;
  std::vector<std::uint64_t> chunk_grid;  // inner chunks of the array
  std::vector<std::uint64_t> block_grid;  // blocks of an inner chunk
  std::size_t item_bytes = 0;
  std::uint64_t array_bytes = 0;  // without padding
  std::uint64_t chunk_bytes = 0;  // of an inner chunk with all its padding
  std::uint64_t block_bytes = 0;
  std::uint64_t chunk_count = 0;

  std::size_t rank() const { return shape.size(); }
};

// Sizes that do not fit together, or 64 bits, are InvalidValue.
Result<NdLayout> decode_nd_layout(ByteSpan metalayer, std::size_t item_bytes);

}  // namespace h5mount::filter::blosc
