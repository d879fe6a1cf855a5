// AllocatedSpace: the ranges of the address space that structures and raw data are known to take up, to find
// bytes that nothing leads to: the space of objects that were deleted, and space that a writer lost. Memory
// is bounded: beyond limits::kMaxAllocatedRanges, the gap beside a new range counts as taken. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::check {

struct SpaceRange {
  std::uint64_t begin, end;  // addresses
};

class AllocatedSpace {
 public:
  // Ranges may overlap; empty ones, and the part of a range beyond 2^64, are ignored. Returns false if no
  // byte of the range was new.
  bool add(std::uint64_t address, std::uint64_t bytes);
  bool contains(std::uint64_t address) const;  // whether the byte there is taken
  std::uint64_t end() const;                   // behind the last byte that is taken

  // Calls visit(SpaceRange) for each gap below `end`, in their order.
  template <class Visit>
  void for_each_gap(std::uint64_t end, const Visit& visit) const {
    const MutexLock lock(mutex_);
    std::uint64_t at = 0;
    for (const auto& [first, last] : ranges_) {
      if (first >= end) break;
      if (first > at) visit(SpaceRange{at, first});
      at = last;
    }
    if (at < end) visit(SpaceRange{at, end});
  }

 private:
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_
      H5_GUARDED_BY(mutex_);  // begin to end; disjoint, not adjacent
};

}  // namespace h5mount::check
