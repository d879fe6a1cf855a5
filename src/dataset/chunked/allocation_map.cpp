#include "allocation_map.h"

#include <algorithm>

#include "h5mount/base/limits.h"

namespace h5mount::dataset {
namespace {

// An index that is not in row-major order adds many short intervals. They are merged whenever there are twice
// as many as after the last merge, and at least this many.
constexpr std::size_t kMergeFrom = 4096;

}  // namespace

void AllocationMap::merge(std::vector<Interval>& intervals) {
  std::ranges::sort(intervals);
  std::size_t kept = 0;
  for (const Interval& interval : intervals) {
    if (kept > 0 && interval.first <= intervals[kept - 1].second)
      intervals[kept - 1].second = std::max(intervals[kept - 1].second, interval.second);
    else
      intervals[kept++] = interval;
  }
  intervals.resize(kept);
}

Result<AllocationMap::WalkedPtr> AllocationMap::walk(RequestBudget& budget) const {
  auto made = std::make_shared<Walked>();
  std::vector<Interval>& allocated = made->allocated;
  std::size_t merge_at = kMergeFrom;
  H5_ASSIGN(const std::optional<std::uint64_t> all, index_.all_allocated());
  if (all) {
    made->stored_bytes = *all;
    if (plan_.row_block_count() > 0) allocated.emplace_back(0, plan_.row_block_count());
    return made;
  }
  Status goes_on;
  H5_TRY(index_.for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
    goes_on = budget.spend(limits::kStepsPerIndexedChunk);
    if (!goes_on || !record.allocated()) return goes_on.has_value();
    made->stored_bytes = checked_add(made->stored_bytes, record.stored_size).value_or(format::kUnlimited);
    const std::uint64_t row_block =
        row_major_number(scaled, plan_.index_grid()) / plan_.chunks_per_row_block();
    if (!allocated.empty() && allocated.back().first <= row_block && row_block <= allocated.back().second) {
      allocated.back().second = std::max(allocated.back().second, row_block + 1);
      return true;
    }
    allocated.emplace_back(row_block, row_block + 1);
    if (allocated.size() >= merge_at) {
      merge(allocated);
      merge_at = std::max(kMergeFrom, 2 * allocated.size());
    }
    return true;
  }));
  H5_TRY(std::move(goes_on));
  merge(allocated);
  return made;
}

Result<std::uint64_t> AllocationMap::stored_bytes(RequestBudget& budget) const {
  H5_ASSIGN(const auto map, walked(budget));
  return map->stored_bytes;
}

std::optional<std::uint64_t> AllocationMap::stored_bytes_known() const {
  const auto map = walked_.peek();
  if (!map) return std::nullopt;
  return (*map)->stored_bytes;
}

Result<WrittenRun> AllocationMap::written_run(std::uint64_t offset, RequestBudget& budget) const {
  if (offset >= plan_.image_bytes()) return fail(Error(ErrorCode::NotFound, "offset beyond the end"));
  H5_ASSIGN(const auto map, walked(budget));
  const std::uint64_t row_block = plan_.row_block_at(offset);
  const auto after = std::ranges::upper_bound(map->allocated, row_block, {}, &Interval::first);
  if (after != map->allocated.begin() && std::prev(after)->second > row_block)
    return WrittenRun{plan_.row_block_offset(std::prev(after)->second), true};
  return WrittenRun{
      after == map->allocated.end() ? plan_.image_bytes() : plan_.row_block_offset(after->first), false};
}

Result<std::uint64_t> AllocationMap::find_data(std::uint64_t offset, RequestBudget& budget) const {
  H5_ASSIGN(const WrittenRun run, written_run(offset, budget));
  if (run.written) return offset;
  if (run.end == plan_.image_bytes()) return fail(Error(ErrorCode::NotFound, "no data after this offset"));
  return run.end;
}

Result<std::uint64_t> AllocationMap::find_hole(std::uint64_t offset, RequestBudget& budget) const {
  H5_ASSIGN(const WrittenRun run, written_run(offset, budget));
  return run.written ? run.end : offset;
}

}  // namespace h5mount::dataset
