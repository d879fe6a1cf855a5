#include "chunk_sequence.h"

namespace h5mount::dataset {

ChunkSequence::ChunkSequence(ChunkedBlocksPtr blocks)
    : ChunkUnits(std::move(blocks)),
      readahead_(blocks_->cache(), blocks_->workers(), blocks_->counters(), blocks_->plan().chunk_bytes(),
                 blocks_->plan().chunk_count(), blocks_->store().most_announced(1)) {}

void ChunkSequence::chunk_read(std::uint64_t chunk) const {
  if (last_.exchange(chunk, std::memory_order_relaxed) == chunk || chunk > kMaxChunk) return;
  if (pattern_.note(chunk * kStep, kStep)) readahead_.advance(shared_from_this(), chunk, pattern_);
}

}  // namespace h5mount::dataset
