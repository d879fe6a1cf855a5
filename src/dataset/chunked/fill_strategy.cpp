// A dataset of which nothing was ever written: fill values.
#include "read_strategy.h"

namespace h5mount::dataset {
namespace {

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

ReadStrategyPtr make_fill_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const FillStrategy>(std::move(blocks));
}

}  // namespace h5mount::dataset
