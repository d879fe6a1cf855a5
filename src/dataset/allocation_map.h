// Which bands of a chunked dataset hold any allocated chunk, and how many bytes the file holds for it: one walk of
// the index, kept as intervals. For du, SEEK_DATA and SEEK_HOLE.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chunk_plan.h"

namespace h5mount {

struct AllocationMap {
  std::uint64_t stored_bytes = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bands;  // [first, second), sorted, apart

  static Result<AllocationMap> make(const ChunkPlan& plan, const ChunkIndex& index);

  // As lseek(2) SEEK_DATA and SEEK_HOLE, for an offset inside the image: NotFound where no data follows; the end is
  // a hole.
  Result<std::uint64_t> find_data(const ChunkPlan& plan, std::uint64_t offset) const;
  std::uint64_t find_hole(const ChunkPlan& plan, std::uint64_t offset) const;

 private:
  std::uint64_t next_allocated(std::uint64_t band, std::uint64_t band_count) const;
  std::uint64_t next_hole(std::uint64_t band) const;
};

}  // namespace h5mount
