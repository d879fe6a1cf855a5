#include "growth.h"

#include <algorithm>

namespace h5mount::dataset {
namespace {

constexpr std::size_t kMaxFinished = 1U << 20;  // remembered keys; for others the index is read again
constexpr std::size_t kMaxPublished = 256;      // ranges; if there are more, they are joined into one

}  // namespace

bool grew_at_end(const object::DatasetDescription& before, const object::DatasetDescription& now) {
  const auto& old_dims = before.space.dims;
  const auto& dims = now.space.dims;
  return before.layout.cls == now.layout.cls && before.element_size == now.element_size && !dims.empty() &&
         old_dims.size() == dims.size() && dims[0] >= old_dims[0] &&
         std::equal(dims.begin() + 1, dims.end(), old_dims.begin() + 1) &&
         before.pipeline.filters.size() == now.pipeline.filters.size();
}

Growth::Begun Growth::begin_state(std::uint64_t previous) {
  Begun out;
  const MutexLock lock(mutex_);
  std::erase_if(published_, [&](const Published& published) { return published.state < previous; });
  for (const Published& published : published_) out.stale.push_back(published.range);
  out.number = ++states_;
  return out;
}

bool Growth::finished(std::uint64_t key) const {
  const MutexLock lock(mutex_);
  return finished_.contains(key);
}

void Growth::set_finished(std::uint64_t key) {
  const MutexLock lock(mutex_);
  if (finished_.size() >= kMaxFinished) finished_.clear();
  finished_.insert(key);
}

void Growth::note_published(ByteRange range) {
  const MutexLock lock(mutex_);
  if (!published_.empty() && published_.back().state == states_) {
    ByteRange& last = published_.back().range;
    const bool meets = range.begin <= last.end && last.begin <= range.end;
    if (meets || published_.size() >= kMaxPublished) {
      last = {std::min(last.begin, range.begin), std::max(last.end, range.end)};
      return;
    }
  }
  if (published_.size() < kMaxPublished) return published_.push_back({states_, range});
  for (const Published& earlier : published_)
    range = {std::min(earlier.range.begin, range.begin), std::max(earlier.range.end, range.end)};
  published_.assign(1, {states_, range});
}

GrowthState::GrowthState(std::shared_ptr<cache::BlockCache> cache, const GrowthState* previous)
    : cache_(std::move(cache)),
      growth_(previous != nullptr ? previous->growth_ : std::make_shared<Growth>(cache_)),
      own_(cache::BlockCache::new_owner()),
      begun_(growth_->begin_state(previous != nullptr ? previous->begun_.number : 0)) {}

void GrowthState::note(std::uint64_t key, ByteRange range) {
  {
    const MutexLock lock(mutex_);
    unfinished_.insert(key);
  }
  note_published(range);
}

}  // namespace h5mount::dataset
