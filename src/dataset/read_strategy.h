// ReadStrategy: one manner of reading a chunked dataset. Which one serves a request depends on the dataset
// and on the access pattern of the open file (choose_strategy); each has its own file:
//
//   Fill           nothing was ever written: fill values
//   Direct         unfiltered chunks with long contiguous runs: the reply is the file's own pages
//   Chunks         random reads, and large chunks that lie in image order: decoded chunks are cached as they
//   are RowBlocks      sequential reads: consecutive row blocks are decoded by all workers straight into
//   image order and
//                  cached as one stripe; the next stripes are read ahead, those behind the reader are dropped
//   SmallRowBlocks random reads of tiny chunks: the same with small stripes, nothing ahead
//   Spill          row blocks that the cache cannot hold: decoded once to a file (spilled_row_blocks.h)
//
// To add one: a file, a factory here, a case in make_strategy and one in choose_strategy.
// Threads: any function from any thread; no lock is held while reading or decoding.
#pragma once

#include <memory>

#include "chunked_blocks.h"

namespace h5mount::dataset {

class ReadStrategy {
 public:
  virtual ~ReadStrategy() = default;

  // Appends the image bytes [offset, offset + length), which lie in the image and are not none. After an
  // error what was appended is of no use.
  virtual Status read(std::uint64_t offset, std::uint64_t length, Pieces& out) const = 0;

  // Whether it decodes chunks that a request does not touch. Its errors may then be those of other chunks,
  // and the request is read chunk by chunk, so that damage stays with the requests that touch it.
  virtual bool decodes_neighbours() const { return false; }

  // After the bytes [offset, end) were given to a reader that goes forward: prepares what it will ask for
  // next, gives up what it will not ask for again.
  virtual void reader_advanced(std::uint64_t /*offset*/, std::uint64_t /*end*/,
                               ReadPattern& /*pattern*/) const {}
};
using ReadStrategyPtr = std::shared_ptr<const ReadStrategy>;

ReadStrategyPtr make_fill_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_direct_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_chunk_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_row_block_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_small_row_block_strategy(ChunkedBlocksPtr blocks);
ReadStrategyPtr make_spill_strategy(ChunkedBlocksPtr blocks);

enum class StrategyKind : std::uint8_t { Fill, Direct, Chunks, RowBlocks, SmallRowBlocks, Spill };
inline constexpr std::size_t kStrategyKinds = 6;
ReadStrategyPtr make_strategy(StrategyKind kind, ChunkedBlocksPtr blocks);

// How an open file is read: here and there, here and there but at least a whole row of the image at once, or
// forward.
enum class Access : std::uint8_t { Random, WholeRows, Sequential };
inline constexpr std::size_t kAccessKinds = 3;

// What decides, of a dataset and its mount.
struct StrategyFacts {
  const ChunkPlan& plan;
  bool filtered = false;
  bool may_decode_partially = false;  // its filter can decode a part of a chunk
  bool unallocated = false;           // the file holds no index of its chunks yet
  std::uint64_t cache_bytes = 0;      // the cache's budget
};
StrategyKind choose_strategy(const StrategyFacts& facts, Access access);
// Of the last stripe of a growing dataset, which is made anew in every state: only new chunks should be
// decoded.
StrategyKind choose_tail_strategy(const ChunkPlan& plan);

// Chunks below this size are not cached each: an entry in the cache costs more than decoding them.
inline constexpr std::uint64_t kTinyChunk = 4U << 10;
// The largest stripe of row blocks that hold more than one.
inline constexpr std::uint64_t kMaxStripe = 2U << 20;

}  // namespace h5mount::dataset
