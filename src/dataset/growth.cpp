#include "growth.h"

#include <algorithm>

namespace h5mount {
namespace {

constexpr std::size_t kMostSettled = 1U << 20;  // remembered; a block that is forgotten is looked up again
constexpr std::size_t kMostShown = 256;         // ranges; more are told as one that covers them

}  // namespace

bool grew_at_end(const DatasetDescription& before, const DatasetDescription& now) {
  const auto& old_dims = before.space.dims;
  const auto& dims = now.space.dims;
  return before.layout.cls == now.layout.cls && before.element_size == now.element_size && !dims.empty() &&
         old_dims.size() == dims.size() && dims[0] >= old_dims[0] &&
         std::equal(dims.begin() + 1, dims.end(), old_dims.begin() + 1) &&
         before.pipeline.filters.size() == now.pipeline.filters.size();
}

std::uint64_t Growth::begin_state() {
  const std::lock_guard lock(mutex_);
  return ++states_;
}

bool Growth::settled(std::uint64_t key) const {
  const std::lock_guard lock(mutex_);
  return settled_.contains(key);
}

void Growth::settle(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  if (settled_.size() >= kMostSettled) settled_.clear();
  settled_.insert(key);
}

void Growth::note_shown(std::uint64_t state, ByteRange range) {
  const std::lock_guard lock(mutex_);
  if (!shown_.empty() && shown_.back().state == state) {
    ByteRange& last = shown_.back().range;
    const bool meets = range.begin <= last.end && last.begin <= range.end;
    if (meets || shown_.size() >= kMostShown) {
      last = {std::min(last.begin, range.begin), std::max(last.end, range.end)};
      return;
    }
  }
  if (shown_.size() < kMostShown) return shown_.push_back({state, range});
  for (const Shown& earlier : shown_)
    range = {std::min(earlier.range.begin, range.begin), std::max(earlier.range.end, range.end)};
  shown_.assign(1, {state, range});
}

std::vector<ByteRange> Growth::take_outdated(std::uint64_t state) {
  std::vector<ByteRange> out;
  const std::lock_guard lock(mutex_);
  std::erase_if(shown_, [&](const Shown& shown) {
    if (shown.state >= state) return false;
    out.push_back(shown.range);
    return true;
  });
  return out;
}

GrowthState::GrowthState(std::shared_ptr<BlockCache> cache, std::shared_ptr<Growth> growth)
    : cache_(std::move(cache)),
      growth_(growth ? std::move(growth) : std::make_shared<Growth>(cache_)),
      own_(BlockCache::new_owner()),
      state_(growth_->begin_state()) {}

void GrowthState::note(std::uint64_t key, ByteRange range) {
  {
    const std::lock_guard lock(mutex_);
    unsettled_.insert(key);
  }
  note_shown(range);
}

}  // namespace h5mount
