#include "readahead.h"

#include <algorithm>

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kAheadBytes = 16U << 20;
constexpr std::uint64_t kMaxUnitsAhead = 16;
// Sixteen requests of 2 MiB: half of the bytes that are kept of far sources.
constexpr std::uint64_t kToldBytes = 32U << 20;
constexpr std::uint64_t kMaxUnitsTold = 2048;

}  // namespace

Readahead::Readahead(const std::shared_ptr<cache::BlockCache>& cache,
                     std::shared_ptr<cache::WorkerPool> workers, std::shared_ptr<Counters> counters,
                     std::uint64_t unit_bytes, std::uint64_t unit_count, bool far)
    : workers_(std::move(workers)), counters_(std::move(counters)), unit_count_(unit_count) {
  unit_bytes = std::max<std::uint64_t>(1, unit_bytes);
  if (unit_bytes > cache->budget() / 3) return;
  const std::uint64_t allowed = std::min<std::uint64_t>(kAheadBytes, cache->budget() / 4);
  depth_ = std::clamp<std::uint64_t>(allowed / unit_bytes, 1, kMaxUnitsAhead);
  if (far) far_depth_ = std::max(depth_, std::min(kToldBytes / unit_bytes, kMaxUnitsTold));
}

// The units from `next` on that the source is to be told of now. They are told in steps that double, as most
// readers want little; the next step is told when half of the last one is read. A reader at another place
// begins anew; one that overtakes reads much at once.
std::pair<std::uint64_t, std::uint64_t> Readahead::claim_told(std::uint64_t next) const {
  const MutexLock lock(told_mutex_);
  const bool elsewhere = told_ < next ? next - told_ > far_depth_ : told_ - next > told_units_;
  if (elsewhere) told_units_ = 0;
  if (elsewhere || told_ < next) told_ = next;
  if ((told_ - next) * 2 > told_units_) return {0, 0};
  told_units_ = std::clamp(told_units_ * 2, depth_, far_depth_);
  const std::uint64_t first = told_;
  told_ = std::min(next + told_units_, unit_count_);
  return {first, told_};
}

// Runs in the reader's thread, as the workers' threads may all be waiting for units that they make. It waits
// only for the chunks' records, which the reader needs soon.
void Readahead::tell(const ReadaheadUnits& units, std::uint64_t next) const {
  auto [first, last] = claim_told(next);
  while (first < last && units.unit_cached(first)) ++first;
  while (first < last && units.unit_cached(last - 1)) --last;
  if (first < last) units.will_make(first, last);
}

void Readahead::advance(const std::shared_ptr<const ReadaheadUnits>& units, std::uint64_t current,
                        ReadPattern& pattern, std::uint64_t next) const {
  if (depth_ == 0 || current + 1 >= unit_count_) return;
  const std::uint64_t until = std::min(std::max(current, next) + depth_, unit_count_ - 1);
  const auto [first, last] = pattern.claim_ahead(current, until);
  if (far_depth_ > 0) tell(*units, current + 1);
  for (std::uint64_t unit = first; unit < last; ++unit) {
    if (units->unit_cached(unit)) continue;
    workers_->submit([units, unit, reader_at = pattern.position(), counters = counters_] {
      // If the job is late, it would make again a unit that was already read and dropped.
      if (*reader_at >= units->unit_end(unit) || units->unit_cached(unit)) return;
      Counters::add(counters->units_ahead);
      units->make_unit(unit);
    });
  }
}

}  // namespace h5mount::dataset
