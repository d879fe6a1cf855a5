// SparseList: a sparse dataset as the list of its defined elements, in row-major order of the dataset. A row
// block's elements are sorted once and cached as one block: their numbers in the image, then as many values.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/base/once_value.h"
#include "sparse_store.h"

namespace h5mount::dataset {

class SparseList final : public SparseForm {
 public:
  // `most_bytes`: the largest size of one row block's list.
  explicit SparseList(const SparseStore& store, std::uint64_t most_bytes = limits::kMaxSparseListBytes)
      : store_(store), plan_(store.plan()), most_bytes_(most_bytes) {}

  Result<std::uint64_t> count(RequestBudget& budget) const override;
  Status read_coordinates(std::uint64_t offset, std::uint64_t length, Pieces& out,
                          RequestBudget& budget) const override;
  Status read_values(std::uint64_t offset, std::uint64_t length, Pieces& out,
                     RequestBudget& budget) const override;

  // The first defined byte at or after image offset `at` in its row block; the row block's end if there is
  // none. A row block that cannot be listed (damaged, or too long a list) counts as data throughout: reading
  // it returns the error.
  std::uint64_t next_defined(std::uint64_t at, RequestBudget& budget) const;
  // The end of the run of defined elements that starts at `at`, in its row block.
  std::uint64_t end_of_defined(std::uint64_t at, RequestBudget& budget) const;

 private:
  struct Counts {
    std::vector<std::uint64_t> row_blocks;  // those with any defined element, ascending
    // The number of elements in all row blocks before; one entry more than row_blocks.
    std::vector<std::uint64_t> before;
    // The numbers of the chunks with elements, ascending: 8 bytes for each that the file holds.
    std::vector<std::uint64_t> chunks;
  };
  using CountsPtr = std::shared_ptr<const Counts>;

  Result<CountsPtr> counts(RequestBudget& budget) const {
    return counts_.get([&] { return count_all(budget); }, budget);
  }
  Result<CountsPtr> count_all(RequestBudget& budget) const;
  Result<std::vector<std::uint64_t>> allocated_chunks(std::uint64_t row_block, RequestBudget& budget) const;
  // `expected`: the number of elements, 0 if it is unknown.
  Result<cache::BlockPtr> row_block_list(std::uint64_t row_block, std::uint64_t expected,
                                         RequestBudget& budget) const;
  Result<std::shared_ptr<cache::Block>> make_row_block_list(std::uint64_t row_block, std::uint64_t expected,
                                                            RequestBudget& budget) const;
  std::span<const std::uint64_t> elements_of(const cache::Block& list) const;

  template <class Render>  // render(list, elements in it, first, count, out bytes): items of `item_bytes`
  Status read_items(std::uint64_t item_bytes, std::uint64_t offset, std::uint64_t length, Pieces& out,
                    RequestBudget& budget, Render render) const;

  const SparseStore& store_;
  const ChunkPlan& plan_;
  const std::uint64_t most_bytes_;
  mutable OnceValue<CountsPtr> counts_;
};

}  // namespace h5mount::dataset
