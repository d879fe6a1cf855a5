// Unfiltered chunks are served as the file's own pages: no cache and no copy in this process.
#include <unordered_map>

#include "read_strategy.h"

namespace h5mount::dataset {
namespace {

class DirectStrategy final : public ReadStrategy {
 public:
  explicit DirectStrategy(ChunkedBlocksPtr blocks) : blocks_(std::move(blocks)) {}

  Status read(std::uint64_t offset, std::uint64_t length, Pieces& out, RequestBudget&) const override {
    const ChunkStore& store = blocks_->store();
    std::unordered_map<std::uint64_t, chunk::ChunkRecord> records;
    Status status;
    const auto append = [&](std::uint64_t chunk, std::uint64_t at, std::uint64_t bytes) {
      auto found = records.find(chunk);
      if (found == records.end()) {
        auto record = store.find(chunk);
        if (!record) return status = fail(std::move(record).error()), false;
        found = records.emplace(chunk, std::move(*record)).first;
        if (blocks_->growth() != nullptr) (void)blocks_->chunk_key(chunk);  // records that it is published
      }
      if (found->second.allocated())
        status = store.append_stored(chunk, found->second, at, bytes, out);
      else
        store.fill().append(offset, bytes, out);
      offset += bytes;
      return status.has_value();
    };
    blocks_->plan().for_each_image_run(offset, length, append);
    return status;
  }

 private:
  ChunkedBlocksPtr blocks_;
};

}  // namespace

ReadStrategyPtr make_direct_strategy(ChunkedBlocksPtr blocks) {
  return std::make_shared<const DirectStrategy>(std::move(blocks));
}

}  // namespace h5mount::dataset
