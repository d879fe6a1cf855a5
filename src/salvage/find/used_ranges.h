// UsedRanges: the ranges of the address space that structures and data take up. `settle` sorts them; before
// that, ranges that were added may be missed. Threads: `add` one at a time, `contains` and `gaps` from any
// after `settle`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::salvage {

using Range = ByteRange;

class UsedRanges {
 public:
  UsedRanges() = default;
  // With `keeps_shared` the bytes are kept that more than one range has.
  explicit UsedRanges(bool keeps_shared) : keeps_shared_(keeps_shared) {}

  void add(std::uint64_t begin, std::uint64_t bytes) {
    if (bytes == 0 || begin + bytes < begin) return;
    if (!ranges_.empty() && ranges_.back().end == begin)
      ranges_.back().end += bytes;
    else
      ranges_.push_back({begin, begin + bytes});
    if (ranges_.size() >= settle_at_) settle();
  }

  void add(const Range& range) { add(range.begin, range.end - range.begin); }
  // Adds the parts of [0, end) that are in `others`.
  void add(const UsedRanges& others, std::uint64_t end) {
    others.within(0, end, [this](const Range& range) { add(range); });
  }

  // Sorts the ranges and joins those that touch or overlap. An overlap is noted.
  void settle() {
    std::ranges::sort(ranges_, {}, &Range::begin);
    std::vector<Range> joined;
    for (const Range& range : ranges_) {
      if (joined.empty() || joined.back().end < range.begin) {
        joined.push_back(range);
        continue;
      }
      if (range.begin < joined.back().end) note_shared({range.begin, std::min(range.end, joined.back().end)});
      joined.back().end = std::max(joined.back().end, range.end);
    }
    ranges_ = std::move(joined);
    settle_at_ = std::max<std::size_t>(kMinSettled, 2 * ranges_.size());
  }

  // Visits the claimed parts of [begin, end).
  template <class Visit>
  void within(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    auto at = std::ranges::upper_bound(ranges_, begin, {}, &Range::begin);
    if (at != ranges_.begin()) --at;
    for (; at != ranges_.end() && at->begin < end; ++at)
      if (at->end > begin) visit(Range{std::max(begin, at->begin), std::min(end, at->end)});
  }
  bool touches(std::uint64_t begin, std::uint64_t end) const {
    if (begin >= end) return false;
    const auto behind = std::ranges::upper_bound(ranges_, begin, {}, &Range::begin);
    if (behind != ranges_.end() && behind->begin < end) return true;
    return behind != ranges_.begin() && std::prev(behind)->end > begin;
  }
  std::size_t count() const { return ranges_.size(); }
  // Whether two of the ranges that were added had bytes in common.
  bool overlap() const { return overlap_; }
  // The bytes that more than one of them had. Of more than kMaxShared such ranges those beside one another
  // are joined, with what lies between.
  UsedRanges shared() const {
    UsedRanges out;
    out.ranges_ = shared_;
    out.settle();
    return out;
  }
  bool contains(std::uint64_t at) const { return touches(at, at + 1); }

  // The ranges below `end` that are not used.
  std::vector<Range> gaps(std::uint64_t end) const {
    std::vector<Range> out;
    std::uint64_t at = 0;
    for (const Range& range : ranges_) {
      if (range.begin >= end) break;
      if (range.begin > at) out.push_back({at, range.begin});
      at = std::max(at, range.end);
    }
    if (at < end) out.push_back({at, end});
    return out;
  }

  static constexpr std::size_t kMaxShared = 1U << 16;

 private:
  static constexpr std::size_t kMinSettled = 1U << 16;

  void note_shared(const Range& range) {
    overlap_ = true;
    if (!keeps_shared_) return;
    shared_.push_back(range);
    if (shared_.size() < 2 * kMaxShared) return;
    shared_ = shared().ranges_;
    while (shared_.size() > kMaxShared) {
      std::size_t half = 0;
      for (std::size_t i = 0; i < shared_.size(); i += 2, ++half)
        shared_[half] = {shared_[i].begin, shared_[std::min(i + 1, shared_.size() - 1)].end};
      shared_.resize(half);
    }
  }

  std::vector<Range> ranges_;
  std::size_t settle_at_ = kMinSettled;
  bool overlap_ = false, keeps_shared_ = false;
  std::vector<Range> shared_;
};

}  // namespace h5mount::salvage
