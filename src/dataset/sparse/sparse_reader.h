// SparseReader: sparse storage (layout class 4) as a dense array (the dataset's file), and as the list of its
// defined elements.
#pragma once

#include <unordered_map>

#include "../chunked/allocation_map.h"
#include "../core/fill_pattern.h"
#include "../core/unit_readahead.h"
#include "sparse_list.h"
#include "sparse_store.h"

namespace h5mount::dataset {

class SparseReader final : public DatasetReader,
                           public ReadaheadUnits,
                           public std::enable_shared_from_this<SparseReader> {
 public:
  static Result<std::shared_ptr<const DatasetReader>> open(const ReadEnvironment& environment,
                                                           const object::OpenedFilePtr& file,
                                                           object::DatasetDescription description);

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;
  Result<std::uint64_t> storage_bytes(RequestBudget& budget) const override {
    return allocation_.stored_bytes(budget);
  }
  std::optional<std::uint64_t> storage_bytes_known() const override {
    return allocation_.stored_bytes_known();
  }
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const override;
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const override;
  std::optional<Error> problem() const override { return store_->problem(); }
  const SparseForm* sparse_form() const override { return &list_; }

  // The units of read-ahead are row blocks; each of their chunks is a block in the cache.
  std::uint64_t unit_end(std::uint64_t row_block) const override {
    return plan_.row_block_offset(row_block + 1);
  }
  bool unit_cached(std::uint64_t) const override { return false; }
  void make_unit(std::uint64_t row_block) const override;

 private:
  SparseReader(const ReadEnvironment& environment, object::DatasetDescription description,
               std::unique_ptr<SparseStore> store);

  // The chunks that a range of the image touches, by number; null if a chunk was never written.
  using Blocks = std::unordered_map<std::uint64_t, cache::BlockPtr>;
  Result<Blocks> blocks_of(std::uint64_t offset, std::uint64_t length, RequestBudget& budget) const;
  void assemble(const Blocks& blocks, std::uint64_t offset, MutableByteSpan out) const;

  std::unique_ptr<SparseStore> store_;
  const ChunkPlan& plan_;
  FillPattern fill_;
  AllocationMap allocation_;
  SparseList list_;
  Readahead readahead_;
};

}  // namespace h5mount::dataset
