#include "read_strategy.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kLargeChunk = 256U << 10;  // from this size on, chunks in image order need no stripes
constexpr std::uint64_t kDirectRun = 1U << 10;     // from this length on, a run is worth a slice of the reply
constexpr std::uint64_t kDirectRunSequential = 16U << 10;  // the same if all workers could copy instead

StrategyKind choose_for_linear_chunks(const ChunkPlan& plan, bool sequential) {
  if (plan.chunk_bytes() >= kLargeChunk) return StrategyKind::Chunks;
  if (sequential) return StrategyKind::RowBlocks;
  return plan.chunk_bytes() < kTinyChunk ? StrategyKind::SmallRowBlocks : StrategyKind::Chunks;
}

// Nothing was ever written.
class FillStrategy final : public ReadStrategy {
 public:
  explicit FillStrategy(ChunkedBlocksPtr blocks) : blocks_(std::move(blocks)) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget&) const override {
    if (blocks_->growth() != nullptr) blocks_->growth()->note_published({offset, offset + length});
    blocks_->store().fill().append(offset, length, out);
    return {};
  }

 private:
  ChunkedBlocksPtr blocks_;
};

}  // namespace

StrategyKind choose_strategy(const StrategyFacts& facts, Access access) {
  if (facts.unallocated) return StrategyKind::Fill;
  const ChunkPlan& plan = facts.plan;
  const std::uint64_t row_block = plan.full_row_block_bytes();
  const bool fits = row_block <= facts.cache_bytes / 4;
  if (!facts.filtered && plan.run_bytes() >= kDirectRun) {
    // For sequential access, a copy by all workers costs less than a reply of a thousand slices.
    const bool copied =
        access == Access::Sequential && !plan.linear() && plan.run_bytes() < kDirectRunSequential;
    return copied && fits ? StrategyKind::RowBlocks : StrategyKind::Direct;
  }
  // A whole row needs every chunk of its row block, so decoding them into place costs nothing extra; and if
  // the cache cannot hold the row block, a spill file saves decoding the chunks again.
  const bool whole_rows = access == Access::WholeRows && !plan.linear() && !facts.may_decode_partially;
  const bool sequential = access == Access::Sequential || whole_rows;
  const bool spills = row_block > facts.cache_bytes / 4 * 3;
  // A chunk that the cache cannot keep would be decoded for every request, in whatever order the requests
  // come.
  if (spills && plan.chunk_bytes() > facts.cache_bytes / 2) return StrategyKind::Spill;
  if (plan.linear()) return choose_for_linear_chunks(plan, sequential);
  if (sequential && spills) return StrategyKind::Spill;
  if (sequential && fits) return StrategyKind::RowBlocks;
  if (plan.chunk_bytes() < kTinyChunk && row_block <= kMaxStripe) return StrategyKind::SmallRowBlocks;
  return StrategyKind::Chunks;
}

StrategyKind choose_tail_strategy(const ChunkPlan& plan) {
  return plan.chunk_bytes() < kTinyChunk ? StrategyKind::SmallRowBlocks : StrategyKind::Chunks;
}

ReadStrategyPtr make_strategy(StrategyKind kind, ChunkedBlocksPtr blocks) {
  switch (kind) {
    case StrategyKind::Fill:
      return std::make_shared<const FillStrategy>(std::move(blocks));
    case StrategyKind::Direct:
      return make_direct_strategy(std::move(blocks));
    case StrategyKind::Chunks:
      return make_chunk_strategy(std::move(blocks));
    case StrategyKind::RowBlocks:
      return make_row_block_strategy(std::move(blocks));
    case StrategyKind::SmallRowBlocks:
      return make_small_row_block_strategy(std::move(blocks));
    case StrategyKind::Spill:
      return make_spill_strategy(std::move(blocks));
  }
  return nullptr;
}

}  // namespace h5mount::dataset
