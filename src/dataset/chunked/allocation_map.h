// AllocationMap: which row blocks of a dataset have any allocated chunk, and how many bytes the file holds
// for the dataset. For du, SEEK_DATA and SEEK_HOLE. The index is walked once, on first use, by one caller
// while the others wait; the result is kept as intervals of row blocks. Threads: any; no lock is held during
// the walk. `budget` is that of the request that makes the walk or waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chunk_plan.h"
#include "h5mount/base/once_value.h"
#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

class AllocationMap {
 public:
  // `plan` and `index` must outlive the map.
  AllocationMap(const ChunkPlan& plan, const chunk::ChunkIndex& index) : plan_(plan), index_(index) {}

  Result<std::uint64_t> stored_bytes(RequestBudget& budget) const;
  std::optional<std::uint64_t> stored_bytes_known() const;  // nullopt before the walk

  // As lseek(2) SEEK_DATA and SEEK_HOLE: fails with NotFound if no data follows or if the offset is outside
  // the image; the end is a hole.
  Result<std::uint64_t> find_data(std::uint64_t offset, RequestBudget& budget) const;
  Result<std::uint64_t> find_hole(std::uint64_t offset, RequestBudget& budget) const;
  // Whether the row block at `offset`, which is inside the image, has any allocated chunk, and where the
  // first one begins that differs from it in that.
  Result<WrittenRun> written_run(std::uint64_t offset, RequestBudget& budget) const;

 private:
  using Interval = std::pair<std::uint64_t, std::uint64_t>;  // row blocks [first, second)
  struct Walked {
    std::uint64_t stored_bytes = 0;
    std::vector<Interval> allocated;  // sorted, not adjacent
  };
  using WalkedPtr = std::shared_ptr<const Walked>;

  static void merge(std::vector<Interval>& intervals);
  Result<WalkedPtr> walk(RequestBudget& budget) const;
  Result<WalkedPtr> walked(RequestBudget& budget) const {
    return walked_.get_once([&] { return walk(budget); }, budget);
  }

  const ChunkPlan& plan_;
  const chunk::ChunkIndex& index_;
  mutable OnceValue<WalkedPtr> walked_;
};

}  // namespace h5mount::dataset
