// Ranges, and AllocatedSpace: the ranges of the address space that structures and raw data are known to take
// up, to find bytes that nothing leads to: the space of objects that were deleted, and space that a writer
// lost.
#pragma once

#include <cstdint>
#include <map>

#include "h5mount/base/bytes.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::check {

// A set of ranges, of which those that touch or overlap are one.
class Ranges {
 public:
  // Returns whether the range lies apart from those that were added before. With `most` ranges in the set,
  // the gap before a further one counts as taken.
  bool add(std::uint64_t begin, std::uint64_t bytes, std::size_t most = ~std::size_t{0});
  bool contains(std::uint64_t at) const;
  std::uint64_t end() const { return ends_.empty() ? 0 : ends_.rbegin()->second; }

  // Calls visit(ByteRange) for each gap below `end`, in their order.
  template <class Visit>
  void for_each_gap(std::uint64_t end, const Visit& visit) const {
    std::uint64_t at = 0;
    for (const auto& [first, last] : ends_) {
      if (first >= end) break;
      if (first > at) visit(ByteRange{at, first});
      at = last;
    }
    if (at < end) visit(ByteRange{at, end});
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by their begins; disjoint, not adjacent
};

// Threads: any.
class AllocatedSpace {
 public:
  // Ranges that reach beyond 2^64 are ignored.
  void add(std::uint64_t address, std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    if (checked_add(address, bytes)) ranges_.add(address, bytes, limits::kMaxAllocatedRanges);
  }
  bool contains(std::uint64_t address) const {
    const MutexLock lock(mutex_);
    return ranges_.contains(address);
  }
  std::uint64_t end() const {
    const MutexLock lock(mutex_);
    return ranges_.end();
  }
  template <class Visit>
  void for_each_gap(std::uint64_t end, const Visit& visit) const {
    const MutexLock lock(mutex_);
    ranges_.for_each_gap(end, visit);
  }

 private:
  mutable Mutex mutex_;
  Ranges ranges_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::check
