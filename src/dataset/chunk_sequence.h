// ChunkSequence: read-ahead for readers that read chunks one by one (read_chunk), each as a file of its own.
// A reader that goes through them in order finds the next ones in the cache. Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "chunked_blocks.h"
#include "readahead.h"

namespace h5mount::dataset {

class ChunkSequence final : public ReadaheadUnits, public std::enable_shared_from_this<ChunkSequence> {
 public:
  explicit ChunkSequence(ChunkedBlocksPtr blocks);

  // To be called after bytes of a chunk were read.
  void chunk_read(std::uint64_t chunk) const;

  std::uint64_t unit_end(std::uint64_t chunk) const override { return (chunk + 1) * kStep; }
  bool unit_cached(std::uint64_t chunk) const override {
    return blocks_->cache()->contains_or_pending(blocks_->chunk_key(chunk));
  }
  void make_unit(std::uint64_t chunk) const override { (void)blocks_->chunk_block(chunk, Unbounded()); }
  void will_make(std::uint64_t first, std::uint64_t last) const override {
    blocks_->store().will_read(first, last - first);
  }

 private:
  // ReadPattern counts requests that are near one another as consecutive. So chunks are noted as if each had
  // more bytes than that distance: only the next chunk is consecutive, because for a reader of a column of
  // chunks the ones between would be decoded in vain.
  static constexpr std::uint64_t kStep = 2 * ReadPattern::kReorder;
  static constexpr std::uint64_t kMaxChunk = format::kUnlimited / kStep / 2;

  ChunkedBlocksPtr blocks_;
  Readahead readahead_;
  mutable ReadPattern pattern_;
  mutable std::atomic<std::uint64_t> last_ = format::kUnlimited;
};

}  // namespace h5mount::dataset
