#include "unit_readahead.h"

#include <algorithm>

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kAheadBytes = 16U << 20;
constexpr std::uint64_t kMaxUnitsAhead = 16;

}  // namespace

Readahead::Readahead(const std::shared_ptr<cache::BlockCache>& cache,
                     std::shared_ptr<cache::WorkerPool> workers, std::shared_ptr<Counters> counters,
                     std::uint64_t unit_bytes, std::uint64_t unit_count, std::uint64_t most_announced)
    : workers_(std::move(workers)),
      counters_(std::move(counters)),
      unit_count_(unit_count),
      unit_bytes_(std::max<std::uint64_t>(1, unit_bytes)) {
  if (unit_bytes_ > cache->budget() / 3) return;
  const std::uint64_t allowed = std::min<std::uint64_t>(kAheadBytes, cache->budget() / 4);
  depth_ = std::clamp<std::uint64_t>(allowed / unit_bytes_, 1, kMaxUnitsAhead);
  if (most_announced > 0) most_announced_ = std::max(depth_, most_announced);
}

// The units from `next` on that the source is to be asked for now: as many as are worth the bytes of a
// window, as they are stored. A reader that is elsewhere begins anew; one that overtakes reads much at once.
ByteRange Readahead::claim_ahead(ReadPattern::Announced& announced, std::uint64_t next) const {
  constexpr std::uint64_t kGrowth = 4;
  const MutexLock lock(announced.mutex);
  AheadWindow& ahead = announced.ahead;
  const std::uint64_t stored = announced.stored_bytes > 0 ? announced.stored_bytes : unit_bytes_;
  const std::uint64_t most = std::clamp(AheadWindow::kMostBytes / stored, depth_, most_announced_);
  const std::uint64_t request = std::clamp<std::uint64_t>(AheadWindow::kRequestBytes / stored, 1, most);
  const bool elsewhere = ahead.until < next ? next - ahead.until > most : ahead.until - next > ahead.window;
  if (elsewhere) ahead = {next, 0};
  // `most` goes with the sizes of the chunks that were met last: a window near it counts as full.
  const std::uint64_t grown = ahead.window * kGrowth;
  return ahead.advance(next, grown, grown > most, depth_, most, request);
}

// It runs in the reader's thread, as those of the workers may all wait for what they make, and waits for the
// chunks' records alone, which the reader needs soon.
void Readahead::announce(const ReadaheadUnits& units, std::uint64_t next,
                         ReadPattern::Announced& announced) const {
  auto [first, last] = claim_ahead(announced, next);
  last = std::min(last, unit_count_);
  while (first < last && units.unit_cached(first)) ++first;
  while (first < last && units.unit_cached(last - 1)) --last;
  if (first >= last) return;
  const std::uint64_t bytes = units.will_make(first, last);
  const MutexLock lock(announced.mutex);
  announced.stored_bytes = std::max<std::uint64_t>(1, bytes / (last - first));
}

void Readahead::advance(const std::shared_ptr<const ReadaheadUnits>& units, std::uint64_t current,
                        ReadPattern& pattern, std::uint64_t next) const {
  if (depth_ == 0 || current + 1 >= unit_count_) return;
  const std::uint64_t until = std::min(std::max(current, next) + depth_, unit_count_ - 1);
  const auto [first, last] = pattern.claim_ahead(current, until);
  if (most_announced_ > 0) announce(*units, current + 1, pattern.announced());
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
