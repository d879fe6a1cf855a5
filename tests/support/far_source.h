// A source that says it is far: it notes what it was told that will be read, and each read for which nothing
// had been told. For tests of what a reader asks for together.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "h5mount/base/checked.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::test {

class FarSource final : public io::ByteSource, public io::SourceState {
 public:
  // `joined`: ranges with at most so many bytes between them are fetched as one, as by a source that wants
  // few requests.
  explicit FarSource(std::shared_ptr<io::ByteSource> near, std::size_t block_bytes = 64U << 10,
                     std::uint64_t joined = 0)
      : near_(std::move(near)), block_bytes_(block_bytes), joined_(joined) {}

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    if (on_read) on_read(offset, out.size());
    if (gone) return fail(Error(ErrorCode::Stale, "another version is there now"));
    {
      const std::lock_guard lock(mutex_);
      ++reads_;
      if (!told_of(offset, offset + out.size())) untold_.push_back({offset, offset + out.size()});
    }
    return near_->read_at(offset, out);
  }
  std::uint64_t size() const override { return near_->size(); }
  void will_read(std::span<const ByteRange> ranges) const override {
    const std::lock_guard lock(mutex_);
    bool fresh = false;
    for (const ByteRange& range : ranges) {
      if (told_of(range.begin, range.end)) continue;
      fresh = true;
      if (all_told_) untold_.push_back(range);
    }
    if (fresh) ++rounds_;
    told_.insert(told_.end(), ranges.begin(), ranges.end());
  }
  // From now on being told of something else counts as a read for which nothing had been told.
  void expect_no_more() {
    const std::lock_guard lock(mutex_);
    all_told_ = true;
  }
  bool far() const override { return true; }
  std::size_t block_bytes() const override { return block_bytes_; }
  std::string name() const override { return "far"; }

  io::SourceState& state() override { return *this; }
  Result<io::SourceStamp> stamp() override {
    ++stamps;
    return io::SourceStamp{.size = size(), .replaced = gone};
  }

  // Forgets what was told and read.
  void forget() {
    const std::lock_guard lock(mutex_);
    told_.clear();
    untold_.clear();
    reads_ = rounds_ = 0;
    all_told_ = false;
  }
  std::uint64_t reads() const { return locked(reads_); }
  // How often it was told of anything that it had not been told of before.
  std::uint64_t rounds() const { return locked(rounds_); }
  std::vector<ByteRange> told() const { return locked(told_); }
  std::vector<ByteRange> untold() const { return locked(untold_); }

  std::function<void(std::uint64_t offset, std::size_t bytes)> on_read;
  std::atomic<bool> gone = false;
  std::atomic<unsigned> stamps = 0;

 private:
  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  bool told_of(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t gap = 0;
    for (bool further = true; begin < end && further;) {
      further = false;
      for (const ByteRange& range : told_) {
        if (range.begin > begin + gap || range.end <= begin) continue;
        begin = range.end;
        gap = joined_;
        further = true;
      }
    }
    return begin >= end;
  }

  const std::shared_ptr<io::ByteSource> near_;
  const std::size_t block_bytes_;
  const std::uint64_t joined_;
  mutable std::mutex mutex_;
  mutable std::vector<ByteRange> told_, untold_;
  mutable std::uint64_t reads_ = 0, rounds_ = 0;
  bool all_told_ = false;
};

}  // namespace h5mount::test
