#include "extents.h"

#include <algorithm>
#include <set>
#include <utility>

#include "h5mount/base/limits.h"
#include "h5mount/base/structures.h"
#include "h5mount/io/stored_data.h"

namespace h5mount::check {

bool Extents::add(const Extent& extent) {
  // This leaves room for the claims of a few damaged datasets, so that the others are still checked.
  constexpr std::uint64_t kMaxClaims = 4;
  const std::uint64_t bytes = extent.end - extent.begin;
  const MutexLock lock(mutex_);
  claimed_ += std::max<std::uint64_t>(bytes, 1);  // empty ones take time, too
  if (claimed_ / kMaxClaims > file_bytes_) return false;
  if (bytes == 0) return true;
  Extent* const last = extents_.empty() ? nullptr : &extents_.back();
  if (last != nullptr && last->owner == extent.owner && last->end == extent.begin &&
      last->unfiltered == extent.unfiltered)
    last->end = extent.end;
  else if (extents_.size() < limits::kMaxCheckedExtents)
    extents_.push_back(extent);
  else
    return false;
  return true;
}

std::vector<Extent> Extents::take() {
  const MutexLock lock(mutex_);
  std::vector<Extent> out = std::exchange(extents_, {});
  std::ranges::sort(out, {}, [](const Extent& extent) { return std::pair(extent.begin, extent.owner); });
  return out;
}

void read_unfiltered(std::span<const Extent> extents, const metadata::FileMetadata& file,
                     cache::WorkerPool* workers, const Places& places, Tally& tally) {
  constexpr std::uint64_t kReadBytes = 1U << 20;
  std::vector<Extent> parts;
  const auto read = [&](std::uint64_t i) {
    const Extent& part = parts[i];
    std::vector<std::byte> bytes(static_cast<std::size_t>(part.end - part.begin));
    if (const Status done = file.source()->read_at(part.begin, bytes); !done)
      tally.found(places.path(part.owner), done.error().within("raw data", file.base_address() + part.begin));
  };
  const auto read_parts = [&] {
    for_each(workers, parts.size(), tally, read);
    parts.clear();
  };
  const io::StoredData stored(*file.source());
  std::uint64_t at = 0;  // what lies before was read: shared bytes are read once
  for (const Extent& extent : extents) {
    if (!extent.unfiltered) continue;
    for (at = std::max(at, extent.begin); at < extent.end && tally.go_on();) {
      at = stored.next(file.base_address() + at) - file.base_address();
      if (at >= extent.end) break;
      const std::uint64_t end = std::min(extent.end, at + kReadBytes);
      parts.push_back({at, end, extent.owner, true});
      at = end;
      if (parts.size() == kBatch) read_parts();
    }
  }
  read_parts();
}

void for_each_overlap(std::span<const Extent> extents,
                      const std::function<void(const Extent& extent, const Extent& before)>& visit) {
  std::set<std::pair<PlaceId, PlaceId>> met;
  const Extent* widest = nullptr;  // the one that reaches farthest of those before
  for (const Extent& extent : extents) {
    if (widest != nullptr && extent.begin < widest->end && met.size() < limits::kMaxFindings &&
        met.insert(std::minmax(widest->owner, extent.owner)).second)
      visit(extent, *widest);
    if (widest == nullptr || extent.end > widest->end) widest = &extent;
  }
}

void report_overlaps(std::span<const Extent> extents, const metadata::FileMetadata& file,
                     const Places& places, Tally& tally) {
  for_each_overlap(extents, [&](const Extent& extent, const Extent& before) {
    const Error error(ErrorCode::InvalidValue, structures::kChunk, "address",
                      file.base_address() + extent.begin);
    tally.found(places.path(extent.owner),
                error.with_detail(before.owner == extent.owner
                                      ? "its raw data overlap one another"
                                      : "its raw data overlap those of " + places.path(before.owner)));
  });
}

}  // namespace h5mount::check
