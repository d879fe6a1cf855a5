#include "allocated_space.h"

#include <algorithm>
#include <iterator>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::check {

bool AllocatedSpace::add(std::uint64_t address, std::uint64_t bytes) {
  const auto sum = checked_add(address, bytes);
  if (bytes == 0 || !sum) return false;
  std::uint64_t begin = address, end = *sum;
  const MutexLock lock(mutex_);
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= end) return false;
    if (before->second >= begin || ranges_.size() >= limits::kMaxAllocatedRanges) {
      begin = before->first;
      next = before;
    }
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
  return true;
}

std::uint64_t AllocatedSpace::end() const {
  const MutexLock lock(mutex_);
  return ranges_.empty() ? 0 : ranges_.rbegin()->second;
}

bool AllocatedSpace::contains(std::uint64_t address) const {
  const MutexLock lock(mutex_);
  const auto next = ranges_.upper_bound(address);
  return next != ranges_.begin() && std::prev(next)->second > address;
}

}  // namespace h5mount::check
