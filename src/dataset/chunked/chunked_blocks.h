// ChunkedBlocks: the parts that the read strategies of one chunked dataset share: its chunks, the workers,
// and its blocks in the cache with the owner of each. In a followed file, a block whose chunks may still
// change belongs to this reader alone (growth.h). Threads: any.
#pragma once

#include <functional>
#include <memory>

#include "../core/growth.h"
#include "chunk_store.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/dataset/open_dataset.h"

namespace h5mount::dataset {

// Kinds of blocks under one owner in the cache. A stripe is a run of whole image rows.
enum class BlockKind : std::uint64_t { Chunk = 0, Stripe = 1, SmallStripe = 2, SpillStripe = 3 };

class ChunkedBlocks {
 public:
  // `growth` is null unless the file is followed.
  ChunkedBlocks(const ReadEnvironment& environment, std::unique_ptr<ChunkStore> store,
                std::unique_ptr<GrowthState> growth);
  ~ChunkedBlocks();  // removes its blocks from the cache
  ChunkedBlocks(const ChunkedBlocks&) = delete;
  ChunkedBlocks& operator=(const ChunkedBlocks&) = delete;

  const ChunkStore& store() const { return *store_; }
  const ChunkPlan& plan() const { return store_->plan(); }
  const std::shared_ptr<cache::BlockCache>& cache() const { return cache_; }
  const std::shared_ptr<cache::WorkerPool>& workers() const { return workers_; }
  const std::shared_ptr<Counters>& counters() const { return store_->counters(); }
  GrowthState* growth() const { return growth_.get(); }

  cache::BlockKey chunk_key(std::uint64_t chunk) const;
  // The key of the block with number `index` of a kind; the block covers the row blocks [first, last).
  cache::BlockKey stripe_key(BlockKind kind, std::uint64_t index, std::uint64_t first,
                             std::uint64_t last) const;
  // The key of a block gathered from a spill file. The block belongs to this reader, whether it may change or
  // not.
  cache::BlockKey spill_key(std::uint64_t index) const;

  // The whole decoded chunk, through the cache. One that cannot be decoded is tried once, unless the file may
  // grow.
  Result<cache::BlockPtr> chunk_block(std::uint64_t chunk, RequestBudget& budget) const;
  // Runs job(0) … job(count - 1) on the workers. After a failure, which is returned, no more are begun.
  Status run_jobs(std::uint64_t count, const std::function<Status(std::uint64_t)>& job) const;
  // The chunk's block if it is in the cache, made by this reader or by one of an earlier snapshot; else null.
  cache::BlockPtr cached_chunk(std::uint64_t chunk) const;

 private:
  Status decode(std::uint64_t chunk, MutableByteSpan out) const;
  bool finished(std::uint64_t first_chunk, std::uint64_t count) const;

  std::shared_ptr<cache::BlockCache> cache_;
  std::shared_ptr<cache::WorkerPool> workers_;
  std::unique_ptr<ChunkStore> store_;
  std::unique_ptr<GrowthState> growth_;
  std::uint64_t owner_;
  mutable LruCache<Error> damaged_;  // by the chunk's number; of those that are not in the cache
};

using ChunkedBlocksPtr = std::shared_ptr<const ChunkedBlocks>;

}  // namespace h5mount::dataset
