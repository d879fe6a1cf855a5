// Serves row blocks that exceed the cache; see spilled_row_blocks.h.
#include "read_strategy.h"
#include "spilled_row_blocks.h"

namespace h5mount::dataset {
namespace {

class SpillStrategy final : public ReadStrategy {
 public:
  explicit SpillStrategy(ChunkedBlocksPtr blocks) : blocks_(std::move(blocks)), spilled_(blocks_) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget& budget) const override {
    const ChunkPlan& plan = blocks_->plan();
    if (blocks_->growth() != nullptr) {
      // Records which row blocks are published.
      const std::uint64_t last = plan.row_block_at(offset + length - 1);
      for (std::uint64_t row_block = plan.row_block_at(offset); row_block <= last; ++row_block)
        (void)blocks_->stripe_key(BlockKind::SpillStripe, row_block, row_block, row_block + 1);
    }
    while (length > 0) {
      H5_ASSIGN(const SpilledRowBlocks::Stripe stripe, spilled_.stripe_at(offset, budget));
      const auto at = static_cast<std::size_t>(offset - stripe.offset);
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, stripe.block->size() - at));
      out.add(stripe.block->bytes().subspan(at, n), stripe.block);
      offset += n;
      length -= n;
    }
    return {};
  }
  bool decodes_neighbours() const override { return true; }

 private:
  ChunkedBlocksPtr blocks_;
  SpilledRowBlocks spilled_;
};

}  // namespace

ReadStrategyPtr make_spill_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const SpillStrategy>(std::move(blocks));
}

}  // namespace h5mount::dataset
