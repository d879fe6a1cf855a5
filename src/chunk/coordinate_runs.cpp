#include "coordinate_runs.h"

#include <algorithm>

#include "h5mount/base/row_major.h"
#include "h5mount/format/chunk_btree1.h"

namespace h5mount::chunk {

CoordinateRuns::CoordinateRuns(std::span<const ChunkIndex::Run> runs, std::span<const std::uint64_t> grid)
    : rank_(grid.size()) {
  std::uint64_t chunks = 1;  // of the grid, whose number fits in 64 bits (ChunkGeometry::make)
  for (const std::uint64_t n : grid) chunks *= n;
  for (const ChunkIndex::Run& run : runs) {
    if (run.count == 0 || run.first >= chunks) continue;
    const std::uint64_t last = run.first + std::min(run.count, chunks - run.first) - 1;
    ++count_;
    first_.resize(count_ * rank_);
    last_.resize(count_ * rank_);
    row_major_place(run.first, grid, std::span(first_).last(rank_));
    row_major_place(last, grid, std::span(last_).last(rank_));
  }
}

bool CoordinateRuns::touch(const std::uint64_t* begin, const std::uint64_t* end) const {
  std::size_t low = 0, high = count_;  // the first run that does not end before `begin`
  while (begin != nullptr && low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (format::compare_coordinates(last_.data() + middle * rank_, begin, rank_) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == count_) return false;
  return end == nullptr || format::compare_coordinates(first_.data() + low * rank_, end, rank_) < 0;
}

}  // namespace h5mount::chunk
