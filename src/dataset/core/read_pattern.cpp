#include <algorithm>

#include "h5mount/dataset/read_pattern.h"

namespace h5mount::dataset {
namespace {
constexpr std::uint32_t kStreak = 2;
// The kernel's read-ahead uses large requests. A reader that leaves gaps between small requests reads a
// column, and decoding everything between would cost more than it saves.
constexpr std::uint64_t kSmallRequest = 64U << 10;
constexpr std::uint64_t kSmallGaps = 4;  // gap that still counts as forward, in lengths of a small request
}  // namespace

bool ReadPattern::note(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  const std::uint64_t expected = expected_->load(std::memory_order_relaxed);
  const std::uint64_t gap = length < kSmallRequest ? kSmallGaps * length : kReorder;
  const bool near = offset <= expected ? expected - offset <= kReorder : offset - expected <= gap;
  if (!near) {
    expected_->store(end, std::memory_order_relaxed);
    streak_.store(0, std::memory_order_relaxed);
    ahead_.store(0, std::memory_order_relaxed);
    behind_.store(format::kUnlimited, std::memory_order_relaxed);
    return false;
  }
  if (end <= expected) return streak_.load(std::memory_order_relaxed) >= kStreak;
  expected_->store(end, std::memory_order_relaxed);
  return streak_.fetch_add(1, std::memory_order_relaxed) + 1 >= kStreak;
}

bool ReadPattern::forward() const {
  return streak_.load(std::memory_order_relaxed) >= kStreak;
}

std::pair<std::uint64_t, std::uint64_t> ReadPattern::claim_ahead(std::uint64_t current, std::uint64_t last) {
  std::uint64_t claimed = ahead_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t first = std::max(claimed, current + 1);
    if (first > last) return {0, 0};
    if (ahead_.compare_exchange_weak(claimed, last + 1, std::memory_order_relaxed)) return {first, last + 1};
  }
}

std::pair<std::uint64_t, std::uint64_t> ReadPattern::claim_behind(std::uint64_t current) {
  std::uint64_t first = behind_.load(std::memory_order_relaxed);
  while (first == format::kUnlimited || first < current) {
    if (!behind_.compare_exchange_weak(first, current, std::memory_order_relaxed)) continue;
    if (first == format::kUnlimited) break;
    return {first, current};
  }
  return {0, 0};
}

std::shared_ptr<ReadPattern> ReadPattern::of_part(std::uint64_t part) {
  std::shared_ptr<ReadPattern> dropped;
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(parts_, part, [](const auto& known) { return known.first; });
  if (found != parts_.end()) {
    std::rotate(found, found + 1, parts_.end());
    return parts_.back().second;
  }
  if (parts_.size() == kMostParts) {
    dropped = std::move(parts_.front().second);
    parts_.erase(parts_.begin());
  }
  auto made = std::make_shared<ReadPattern>();
  if (forward()) made->streak_.store(kStreak, std::memory_order_relaxed);
  parts_.emplace_back(part, std::move(made));
  return parts_.back().second;
}

void ReadPattern::note_mapped(const std::shared_ptr<const MappedBytes>& bytes) {
  const MutexLock lock(mutex_);
  std::erase_if(mapped_, [](const auto& known) { return known.expired(); });
  mapped_.push_back(bytes);
}

Status ReadPattern::confirm_mapped() const {
  std::vector<std::shared_ptr<const MappedBytes>> passed_on;
  {
    const MutexLock lock(mutex_);
    for (const auto& known : mapped_)
      if (auto bytes = known.lock()) passed_on.push_back(std::move(bytes));
  }
  for (const auto& bytes : passed_on) H5_TRY(bytes->confirm_unchanged());
  return {};
}

}  // namespace h5mount::dataset
