#include "readahead.h"

#include <algorithm>

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kAheadBytes = 16U << 20;
constexpr std::uint64_t kMaxUnitsAhead = 16;
// Of stored bytes, as these are what is fetched: sixteen requests of 2 MiB under way, and some that have come
// before others that were asked for earlier.
constexpr std::uint64_t kRequestBytes = 2U << 20;
constexpr std::uint64_t kToldBytes = 24 * kRequestBytes;
constexpr std::uint64_t kGrowth = 4;  // of the window, each time that half of it is read

}  // namespace

Readahead::Readahead(const std::shared_ptr<cache::BlockCache>& cache,
                     std::shared_ptr<cache::WorkerPool> workers, std::shared_ptr<Counters> counters,
                     std::uint64_t unit_bytes, std::uint64_t unit_count, std::uint64_t most_told)
    : workers_(std::move(workers)),
      counters_(std::move(counters)),
      unit_count_(unit_count),
      unit_bytes_(std::max<std::uint64_t>(1, unit_bytes)) {
  if (unit_bytes_ > cache->budget() / 3) return;
  const std::uint64_t allowed = std::min<std::uint64_t>(kAheadBytes, cache->budget() / 4);
  depth_ = std::clamp<std::uint64_t>(allowed / unit_bytes_, 1, kMaxUnitsAhead);
  if (most_told > 0) most_told_ = std::max(depth_, most_told);
}

// The units from `next` on that the source is to be told of now. Its window grows, as most readers want
// little, each time that half of it is read; when it is full, it moves by whole requests, so that there are
// always as many under way as may be. A reader that is elsewhere begins anew; one that overtakes reads much
// at once.
std::pair<std::uint64_t, std::uint64_t> Readahead::claim_told(ReadPattern::Told& told,
                                                              std::uint64_t next) const {
  const MutexLock lock(told.mutex);
  const std::uint64_t stored = told.stored_bytes > 0 ? told.stored_bytes : unit_bytes_;
  const std::uint64_t most = std::clamp(kToldBytes / stored, depth_, most_told_);
  const std::uint64_t request = std::clamp<std::uint64_t>(kRequestBytes / stored, 1, most);
  const bool elsewhere = told.until < next ? next - told.until > most : told.until - next > told.window;
  if (elsewhere) told.window = 0;
  if (elsewhere || told.until < next) told.until = next;
  const std::uint64_t left = told.until - next;
  const bool full = told.window * kGrowth > most;
  if (full ? left + request > most : left * 2 > told.window) return {0, 0};
  told.window = full ? most : std::clamp(told.window * kGrowth, depth_, most);
  const std::uint64_t first = told.until;
  told.until = std::min(next + told.window, unit_count_);
  return {std::min(first, told.until), told.until};
}

// In the reader's thread: those of the workers may all wait for what they make. It waits for the chunks'
// records alone, which the reader needs soon.
void Readahead::tell(const ReadaheadUnits& units, std::uint64_t next, ReadPattern::Told& told) const {
  auto [first, last] = claim_told(told, next);
  while (first < last && units.unit_cached(first)) ++first;
  while (first < last && units.unit_cached(last - 1)) --last;
  if (first >= last) return;
  const std::uint64_t bytes = units.will_make(first, last);
  const MutexLock lock(told.mutex);
  told.stored_bytes = std::max<std::uint64_t>(1, bytes / (last - first));
}

void Readahead::advance(const std::shared_ptr<const ReadaheadUnits>& units, std::uint64_t current,
                        ReadPattern& pattern, std::uint64_t next) const {
  if (depth_ == 0 || current + 1 >= unit_count_) return;
  const std::uint64_t until = std::min(std::max(current, next) + depth_, unit_count_ - 1);
  const auto [first, last] = pattern.claim_ahead(current, until);
  if (most_told_ > 0) tell(*units, current + 1, pattern.told());
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
