#include "allocation_map.h"

#include <algorithm>

namespace h5mount {
namespace {

using Intervals = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// An index in no useful order adds many short intervals; they are merged whenever there are twice as many as last.
void merge(Intervals& bands) {
  std::ranges::sort(bands);
  std::size_t kept = 0;
  for (const auto& interval : bands) {
    if (kept > 0 && interval.first <= bands[kept - 1].second)
      bands[kept - 1].second = std::max(bands[kept - 1].second, interval.second);
    else
      bands[kept++] = interval;
  }
  bands.resize(kept);
}

}  // namespace

Result<AllocationMap> AllocationMap::make(const ChunkPlan& plan, const ChunkIndex& index) {
  AllocationMap map;
  std::size_t merge_at = 4096;
  std::vector<std::uint64_t> grid(plan.index_grid().begin(), plan.index_grid().end());
  H5_TRY(index.for_each([&](std::span<const std::uint64_t> scaled, const ChunkRecord& record) {
    if (!record.allocated()) return true;
    if (__builtin_add_overflow(map.stored_bytes, record.stored_size, &map.stored_bytes))
      map.stored_bytes = ~std::uint64_t{0};
    std::uint64_t chunk = 0;
    for (std::size_t i = 0; i < grid.size(); ++i) chunk = chunk * grid[i] + scaled[i];
    const std::uint64_t band = chunk / plan.chunks_per_band();
    if (!map.bands.empty() && map.bands.back().first <= band && band <= map.bands.back().second) {
      map.bands.back().second = std::max(map.bands.back().second, band + 1);
      return true;
    }
    map.bands.emplace_back(band, band + 1);
    if (map.bands.size() >= merge_at) {
      merge(map.bands);
      merge_at = std::max<std::size_t>(4096, 2 * map.bands.size());
    }
    return true;
  }));
  merge(map.bands);
  return map;
}

Result<std::uint64_t> AllocationMap::find_data(const ChunkPlan& plan, std::uint64_t offset) const {
  const std::uint64_t band = next_allocated(plan.band_at(offset), plan.band_count());
  if (band >= plan.band_count()) return fail(Error(ErrorCode::NotFound, "no data after this offset"));
  return std::max(offset, plan.band_offset(band));
}

std::uint64_t AllocationMap::find_hole(const ChunkPlan& plan, std::uint64_t offset) const {
  const std::uint64_t band = next_hole(plan.band_at(offset));
  return band >= plan.band_count() ? plan.image_bytes() : std::max(offset, plan.band_offset(band));
}

std::uint64_t AllocationMap::next_allocated(std::uint64_t band, std::uint64_t band_count) const {
  const auto after = std::ranges::upper_bound(bands, band, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
  if (after != bands.begin() && std::prev(after)->second > band) return band;
  return after == bands.end() ? band_count : after->first;
}

std::uint64_t AllocationMap::next_hole(std::uint64_t band) const {
  const auto after = std::ranges::upper_bound(bands, band, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
  if (after != bands.begin() && std::prev(after)->second > band) return std::prev(after)->second;
  return band;
}

}  // namespace h5mount
