// Reads ranges of a chunk's bytes. The last decoded block is kept, so ascending ranges decode each block
// once. Threads: one at a time.
#pragma once

#include "../temporary.h"
#include "chunk.h"

namespace h5mount::filter::blosc {

class BlockReader {
 public:
  // `chunk` must outlive the reader.
  explicit BlockReader(const Chunk& chunk);

  // Bytes [offset, offset + out.size()). Precondition: they lie inside the chunk.
  Status read(std::size_t offset, MutableByteSpan out);
  // A whole block; the span is valid until the next call. Only for chunks that have blocks.
  Result<ByteSpan> load(std::size_t index);
  // Decodes a whole block into `out`.
  Status load_into(std::size_t index, MutableByteSpan out);

 private:
  Result<ByteSpan> reference_for(std::size_t index);

  static constexpr std::size_t kNone = ~std::size_t{0};
  const Chunk& chunk_;
  Temporary block_;
  Temporary zero_;  // block 0, the reference of delta
  bool zero_loaded_ = false;
  std::size_t loaded_ = kNone;
};

}  // namespace h5mount::filter::blosc
