#include "stale_ranges.h"

#include <algorithm>

namespace h5mount::tree {

namespace {

constexpr std::size_t kMaxRanges = 64;

}  // namespace

void StaleRanges::add(std::uint64_t state, std::span<const dataset::ByteRange> ranges) {
  for (const dataset::ByteRange& range : ranges) {
    // This range covers all ranges that became stale before.
    if (range.begin == 0 && range.end == format::kUnlimited) entries_.clear();
    entries_.push_back({state, range});
  }
  if (entries_.size() <= kMaxRanges) return;
  const auto rest = entries_.end() - kMaxRanges / 2;
  Entry joined = entries_.front();
  for (auto entry = entries_.begin(); entry != rest; ++entry)
    joined = {
        entry->state,
        {std::min(joined.range.begin, entry->range.begin), std::max(joined.range.end, entry->range.end)}};
  entries_.erase(entries_.begin(), rest - 1);
  entries_.front() = joined;
}

std::vector<dataset::ByteRange> StaleRanges::since(std::uint64_t state) const {
  std::vector<dataset::ByteRange> out;
  for (const Entry& entry : entries_)
    if (entry.state > state) out.push_back(entry.range);
  return out;
}

}  // namespace h5mount::tree
