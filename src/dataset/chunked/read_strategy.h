// ReadStrategy: one method of reading a chunked dataset. The dataset and the access pattern of the open file
// determine which one serves a request (choose_strategy); each has its own file:
//
// - Fill: nothing was ever written; fill values.
// - Direct: unfiltered chunks with long contiguous runs; the reply is the file's own pages.
// - Chunks: random reads, and large chunks that lie in image order; decoded chunks are cached unchanged.
// - RowBlocks: sequential reads; consecutive row blocks are decoded by all workers directly into image order
// and cached as one stripe; the next stripes are read ahead, those before the reader's position are dropped.
// - SmallRowBlocks: random reads of tiny chunks; as RowBlocks with small stripes, without read-ahead.
// - Spill: row blocks that exceed the cache; decoded once to a file (spill_strategy.cpp).
//
// To add one: a file, a factory here, a case in make_strategy and one in choose_strategy. Threads: any
// function from any thread; no lock is held while reading or decoding.
#pragma once

#include <memory>

#include "chunked_blocks.h"

namespace h5mount::dataset {

class ReadStrategy {
 public:
  virtual ~ReadStrategy() = default;

  // Appends the image bytes [offset, offset + length), a range within the image that is not empty. After an
  // error `out` has no meaning. `budget` is that of the request.
  virtual Status read(std::uint64_t offset, std::uint64_t length, Pieces& out,
                      RequestBudget& budget) const = 0;

  // Whether `read` decodes chunks that a request does not touch. Its error may then be that of another chunk,
  // so the request is repeated chunk by chunk: damage affects only the requests that touch it.
  virtual bool decodes_neighbours() const { return false; }

  // Whether the byte at `offset` is decoded or being decoded, so that read-ahead beyond it delays no request.
  virtual bool has_begun(std::uint64_t /*offset*/) const { return false; }

  // To be called when a forward reader has received the bytes [offset, end), or before that if `has_begun` is
  // true of the last one: prepares the bytes that the reader will read next, and drops those that it will not
  // read again.
  virtual void reader_advanced(std::uint64_t /*offset*/, std::uint64_t /*end*/,
                               ReadPattern& /*pattern*/) const {}
};
using ReadStrategyPtr = std::shared_ptr<const ReadStrategy>;

ReadStrategyPtr make_direct_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_chunk_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_row_block_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_small_row_block_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_spill_strategy(ChunkedBlocksPtr blocks);

enum class StrategyKind : std::uint8_t { Fill, Direct, Chunks, RowBlocks, SmallRowBlocks, Spill };
inline constexpr std::size_t kStrategyKinds = 6;
ReadStrategyPtr make_strategy(StrategyKind kind, ChunkedBlocksPtr blocks);

// How an open file is read: at random, at random but at least a whole row of the image at once, or forward.
enum class Access : std::uint8_t { Random, WholeRows, Sequential };
inline constexpr std::size_t kAccessKinds = 3;

// The facts about a dataset and its mount on which the choice depends.
struct StrategyFacts {
  const ChunkPlan& plan;
  bool filtered = false;
  bool may_decode_partially = false;  // the filter can decode a part of a chunk
  bool unallocated = false;           // the file has no index of its chunks yet
  std::uint64_t cache_bytes = 0;      // the cache's budget
};
StrategyKind choose_strategy(const StrategyFacts& facts, Access access);
// The strategy for the last stripe of a growing dataset. That stripe is read again in every state, so only
// new chunks should be decoded.
StrategyKind choose_tail_strategy(const ChunkPlan& plan);

// Chunks below this size are not cached one by one: an entry in the cache costs more than decoding them.
inline constexpr std::uint64_t kTinyChunk = 4U << 10;
// The largest stripe of more than one row block.
inline constexpr std::uint64_t kMaxStripe = 2U << 20;

}  // namespace h5mount::dataset
