// The metalayer that makes a frame an n-dimensional array; its name is `b2nd`, or `caterva` in older files:
//
//   array of 7 (caterva: 5): version | rank | shape, i64 each | chunk shape, i32 each | block shape, i32 each
//                            | format and text of the dtype (b2nd only; unused in HDF5)
//
// Inner chunks form a grid of ceil(shape / chunk shape) in row-major order. In each chunk, blocks form a grid
// of ceil(chunk shape / block shape) in row-major order. Chunks and blocks are stored at full size, elements
// row-major; elements outside the chunk's or the array's shape are padding.
#pragma once

#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"

namespace h5mount::filter::blosc {

inline constexpr std::size_t kMaxDimensions = 127;  // the largest positive fixnum of msgpack

struct NdLayout {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk_shape;
  std::vector<std::uint64_t> block_shape;
  std::vector<std::uint64_t> chunk_grid;  // grid of the array's inner chunks
  std::vector<std::uint64_t> block_grid;  // grid of an inner chunk's blocks
  std::size_t item_bytes = 0;
  std::uint64_t array_bytes = 0;  // without padding
  std::uint64_t chunk_bytes = 0;  // bytes of an inner chunk with all its padding
  std::uint64_t block_bytes = 0;
  std::uint64_t chunk_count = 0;

  std::size_t rank() const { return shape.size(); }
};

// Fails with InvalidValue if sizes are inconsistent or do not fit in 64 bits.
Result<NdLayout> decode_nd_layout(ByteSpan metalayer, std::size_t item_bytes);

}  // namespace h5mount::filter::blosc
