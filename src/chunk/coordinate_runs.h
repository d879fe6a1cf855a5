// CoordinateRuns: runs of chunks by their coordinates, to be compared with the keys of trees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "h5mount/chunk/chunk_index.h"

namespace h5mount::chunk {

// The most nodes of a level that are asked for at once: 16 MiB where each lies in a block of its own.
inline constexpr std::size_t kMaxAskedNodes = 1'024;

class CoordinateRuns {
 public:
  // Runs that begin outside the grid are left out.
  CoordinateRuns(std::span<const ChunkIndex::Run> runs, std::span<const std::uint64_t> grid);

  // Whether any run has a chunk that is not before `begin` and is before `end`; null: there is no such bound.
  bool touch(const std::uint64_t* begin, const std::uint64_t* end) const;

 private:
  std::size_t rank_;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> first_, last_;  // rank entries for each run
};

}  // namespace h5mount::chunk
