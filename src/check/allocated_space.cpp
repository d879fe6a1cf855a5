#include "allocated_space.h"

#include <algorithm>
#include <iterator>

namespace h5mount::check {

bool Ranges::add(std::uint64_t begin, std::uint64_t bytes, std::size_t most) {
  if (bytes == 0) return true;
  const std::uint64_t end = checked_add(begin, bytes).value_or(~0ULL);
  std::uint64_t first = begin, last = end;
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin()) {
    const auto before = std::prev(next);
    if (before->second >= end) return false;
    if (before->second >= begin || ends_.size() >= most) next = before;
  }
  bool apart = true;
  for (; next != ends_.end() && next->first <= end; next = ends_.erase(next)) {
    apart = apart && (next->second <= begin || next->first == end);
    first = std::min(first, next->first);
    last = std::max(last, next->second);
  }
  ends_.emplace(first, last);
  return apart;
}

bool Ranges::contains(std::uint64_t at) const {
  const auto behind = ends_.upper_bound(at);
  return behind != ends_.begin() && at < std::prev(behind)->second;
}

}  // namespace h5mount::check
