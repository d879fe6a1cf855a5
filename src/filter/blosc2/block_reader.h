// Any ranges of a chunk's bytes, one after another: the last decoded block is kept, so ranges that go forward
// cost each block once. Not for several threads at once.
#pragma once

#include "../temporary.h"
#include "chunk.h"

namespace h5mount::filter::blosc {

class BlockReader {
 public:
  // The chunk must outlive it.
  explicit BlockReader(const Chunk& chunk);

  // Bytes [offset, offset + out.size()), which lie inside the chunk.
  Status read(std::size_t offset, MutableByteSpan out);
  // A whole block, until the next call. Only for a chunk that has blocks.
  Result<ByteSpan> load(std::size_t index);
  // A whole block to where it is wanted.
  Status load_into(std::size_t index, MutableByteSpan out);

 private:
  Result<ByteSpan> reference_for(std::size_t index);

  static constexpr std::size_t kNone = ~std::size_t{0};
  const Chunk& chunk_;
  Temporary block_;
  Temporary zero_;  // block 0, where delta needs it
  bool zero_loaded_ = false;
  std::size_t loaded_ = kNone;
};

}  // namespace h5mount::filter::blosc
