// ChunkSequence: read-ahead for readers that read chunks one by one (read_chunk), each as a file of its own.
// A reader that goes through them in order finds the next ones in the cache. Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "chunk_units.h"

namespace h5mount::dataset {

class ChunkSequence final : public ChunkUnits, public std::enable_shared_from_this<ChunkSequence> {
 public:
  explicit ChunkSequence(ChunkedBlocksPtr blocks);

  // To be called after bytes of a chunk were read.
  void chunk_read(std::uint64_t chunk) const;

  std::uint64_t unit_end(std::uint64_t chunk) const override { return (chunk + 1) * kStep; }

 private:
  // ReadPattern counts requests that are near one another as consecutive. So chunks are noted as if each had
  // more bytes than that distance: only the next chunk is consecutive, because for a reader of a column of
  // chunks the ones between would be decoded in vain.
  static constexpr std::uint64_t kStep = 2 * ReadPattern::kReorder;
  static constexpr std::uint64_t kMaxChunk = format::kUnlimited / kStep / 2;

  Readahead readahead_;
  mutable ReadPattern pattern_;
  mutable std::atomic<std::uint64_t> last_ = format::kUnlimited;
};

}  // namespace h5mount::dataset
