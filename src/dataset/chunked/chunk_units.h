// ChunkUnits: chunks as units of read-ahead, each decoded into the block cache under its own key.
#pragma once

#include "../core/unit_readahead.h"
#include "chunked_blocks.h"

namespace h5mount::dataset {

class ChunkUnits : public ReadaheadUnits {
 public:
  bool unit_cached(std::uint64_t chunk) const override {
    return blocks_->cache()->contains_or_pending(blocks_->chunk_key(chunk));
  }
  void make_unit(std::uint64_t chunk) const override { (void)blocks_->chunk_block(chunk, Unbounded()); }
  std::uint64_t will_make(std::uint64_t first, std::uint64_t last) const override {
    return blocks_->store().will_read(first, last - first);
  }

 protected:
  explicit ChunkUnits(ChunkedBlocksPtr blocks) : blocks_(std::move(blocks)) {}

  const ChunkedBlocksPtr blocks_;
};

}  // namespace h5mount::dataset
