#include "extents.h"

#include <algorithm>
#include <set>

namespace h5mount::check {

std::uint32_t Extents::add_owner(std::string path) {
  const std::lock_guard lock(mutex_);
  owners_.push_back(std::move(path));
  return static_cast<std::uint32_t>(owners_.size() - 1);
}

void Extents::add(std::uint32_t owner, std::uint64_t begin, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (!extents_.empty() && extents_.back().owner == owner && extents_.back().end == begin) {
    extents_.back().end += bytes;
    return;
  }
  extents_.push_back({begin, begin + bytes, owner});
}

void Extents::report_overlaps(std::uint64_t base_address, Tally& tally) {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(extents_, {}, &Extent::begin);
  std::set<std::pair<std::uint32_t, std::uint32_t>> reported;
  const Extent* widest = nullptr;  // the one that reaches farthest of those before
  for (const Extent& extent : extents_) {
    if (widest != nullptr && extent.begin < widest->end &&
        reported.insert(std::minmax(widest->owner, extent.owner)).second) {
      const std::string& other = owners_[widest->owner];
      tally.found(
          owners_[extent.owner],
          Error(ErrorCode::InvalidValue, "Chunk", "address", base_address + extent.begin)
              .with_detail(other == owners_[extent.owner] ? "its raw data overlap one another"
                                                          : "its raw data overlap those of " + other));
    }
    if (widest == nullptr || extent.end > widest->end) widest = &extent;
  }
}

}  // namespace h5mount::check
