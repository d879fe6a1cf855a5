// StructureRanges: where the structures of a file are, as they were read, so that those that overlap are
// found. Memory is bounded: see `full`. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "extents.h"

namespace h5mount::check {

struct StructureRange {
  std::uint64_t begin, end;    // addresses
  std::string_view structure;  // empty: its reader did not say
};

class StructureRanges {
 public:
  // `structure` has static storage. Of one range there may be any number of notes, in parts too.
  void add(std::uint64_t address, std::uint64_t bytes, std::string_view structure);

  // Whether there were more than are remembered.
  bool full() const { return full_; }

  // Sorts the ranges and joins those of one structure: to be called before the others.
  void finish();
  // Visits each pair of structures that share bytes, of which neither is part of the other by the format; at
  // most limits::kMaxFindings.
  void for_each_overlap(const std::function<void(const StructureRange&, const StructureRange&)>& visit) const;
  // The same for each structure that shares bytes with raw data, which is sorted.
  void for_each_overlap(std::span<const Extent> data,
                        const std::function<void(const StructureRange&, const Extent&)>& visit) const;

 private:
  static constexpr std::size_t kMost = 4U << 20;

  std::vector<StructureRange> ranges_;
  bool full_ = false;
};

}  // namespace h5mount::check
