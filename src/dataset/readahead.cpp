#include "readahead.h"

#include <algorithm>

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kAheadBytes = 16U << 20;
constexpr std::uint64_t kMaxUnitsAhead = 16;

}  // namespace

Readahead::Readahead(const std::shared_ptr<cache::BlockCache>& cache,
                     std::shared_ptr<cache::WorkerPool> workers, std::shared_ptr<Counters> counters,
                     std::uint64_t unit_bytes, std::uint64_t unit_count, bool far)
    : workers_(std::move(workers)), counters_(std::move(counters)), unit_count_(unit_count), far_(far) {
  unit_bytes = std::max<std::uint64_t>(1, unit_bytes);
  if (unit_bytes > cache->budget() / 3) return;
  const std::uint64_t allowed = std::min<std::uint64_t>(kAheadBytes, cache->budget() / 4);
  depth_ = std::clamp<std::uint64_t>(allowed / unit_bytes, 1, kMaxUnitsAhead);
}

void Readahead::advance(const std::shared_ptr<const ReadaheadUnits>& units, std::uint64_t current,
                        ReadPattern& pattern, std::uint64_t next) const {
  if (depth_ == 0 || current + 1 >= unit_count_) return;
  const std::uint64_t until = std::min(std::max(current, next) + depth_, unit_count_ - 1);
  const auto [first, last] = pattern.claim_ahead(current, until);
  // A job, as the chunks' records may have to be read first.
  if (far_ && first < last) workers_->submit([units, first, last] { units->will_make(first, last); });
  for (std::uint64_t unit = first; unit < last; ++unit) {
    if (units->unit_cached(unit)) continue;
    workers_->submit([units, unit, reader_at = pattern.position(), counters = counters_] {
      // A late job would make a unit again that was already read and dropped.
      if (*reader_at >= units->unit_end(unit) || units->unit_cached(unit)) return;
      Counters::add(counters->units_ahead);
      units->make_unit(unit);
    });
  }
}

}  // namespace h5mount::dataset
