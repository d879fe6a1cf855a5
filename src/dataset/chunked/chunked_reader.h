// ChunkedReader: reads of chunked datasets; each is passed to the strategy for its access pattern
// (read_strategy.h).
#pragma once

#include <array>
#include <memory>

#include "allocation_map.h"
#include "chunk_sequence.h"
#include "chunked_blocks.h"
#include "h5mount/dataset/stored_chunks.h"
#include "read_strategy.h"

namespace h5mount::dataset {

class ChunkedReader final : public DatasetReader, public StoredChunks {
 public:
  // `previous`: the reader of the previous snapshot of a followed file, or null.
  static Result<std::shared_ptr<const ChunkedReader>> open(const ReadEnvironment& environment,
                                                           const object::OpenedFilePtr& file,
                                                           object::DatasetDescription description,
                                                           const ChunkedReader* previous = nullptr);

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;
  Status read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length, Pieces& out,
                    RequestBudget& budget) const override;
  Status find_stored_run(std::uint64_t first, std::span<Stored> out) const override;
  Status read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                     Pieces& out) const override;
  Status verify_stored(std::uint64_t chunk) const override;
  Status read_runs(std::span<const ByteRun> runs, MutableByteSpan out, RequestBudget& budget) const override;
  Result<std::uint64_t> storage_bytes(RequestBudget& budget) const override {
    return allocation_.stored_bytes(budget);
  }
  std::optional<std::uint64_t> storage_bytes_known() const override;
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override;
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override;
  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const override {
    return allocation_.written_run(offset, budget);
  }
  std::optional<Error> problem() const override { return blocks_->store().problem(); }

 private:
  ChunkedReader(object::DatasetDescription description, ChunkedBlocksPtr blocks);

  const ReadStrategyPtr& strategy(StrategyKind kind);  // makes it on first use
  const ReadStrategy& strategy_for(bool sequential, std::uint64_t length) const;
  bool goes_through(const ReadStrategy& strategy, std::uint64_t offset, std::uint64_t length) const;
  Status read_with(const ReadStrategy& strategy, std::uint64_t offset, std::uint64_t length, Pieces& out,
                   RequestBudget& budget) const;

  Result<NextReader> continued(const ReadEnvironment& environment, const object::OpenedFilePtr& file,
                               const object::DatasetDescription& next, RequestBudget& budget) const override;

  ChunkedBlocksPtr blocks_;
  AllocationMap allocation_;
  const std::shared_ptr<const ChunkSequence> sequence_;
  std::array<ReadStrategyPtr, kStrategyKinds> strategies_;     // by kind; null: not used
  std::array<const ReadStrategy*, kAccessKinds> by_access_{};  // pointers into strategies_
};

}  // namespace h5mount::dataset
