// Growth: the delta of a chunked dataset between snapshots of a growing file: which decoded blocks remain
// valid, and which byte ranges become stale. It keeps the cost of following a file in proportion to the new
// data.
//
// A cached block is *finished* when all its chunks are allocated, and a chunk at a later index of the first
// dimension too: writers append, so they do not write it again. Finished blocks belong to an owner that the
// readers of all snapshots share. The other blocks (holes, and the chunks at the end, which are rewritten as
// they fill) belong to the reader of one snapshot and are removed with it. Their published byte ranges are
// recorded, since the kernel keeps pages of them, which become stale: the delta of a state consists of the
// ranges published since the state before it began, by readers of any state, as those of earlier states may
// still be in use.
//
// Threads: any; locks are held only for look-ups.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/object/object.h"

namespace h5mount::dataset {

// Whether the image of `before` is a prefix of that of `now`.
bool grew_at_end(const object::DatasetDescription& before, const object::DatasetDescription& now);

class Growth {
 public:
  explicit Growth(std::shared_ptr<cache::BlockCache> cache)
      : cache_(std::move(cache)), owner_(cache::BlockCache::new_owner()) {}
  ~Growth() { cache_->erase_owner(owner_); }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

  std::uint64_t owner() const { return owner_; }

  // A state's number, from 1 on, and the ranges that became stale when it began.
  struct Begun {
    std::uint64_t number = 0;
    std::vector<ByteRange> stale = {};
  };
  // Begins a state that follows the state `previous` (0: there is none). Ranges that were published before
  // `previous` began are forgotten.
  Begun begin_state(std::uint64_t previous);

  bool finished(std::uint64_t key) const;
  void set_finished(std::uint64_t key);

  // Records image bytes that a reader returned and that a reader of a later state may return with other
  // contents.
  void note_published(ByteRange range);

 private:
  struct Published {
    std::uint64_t state;  // the newest state when the range was published
    ByteRange range;
  };
  std::shared_ptr<cache::BlockCache> cache_;
  const std::uint64_t owner_;
  mutable Mutex mutex_;
  std::uint64_t states_ H5_GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::uint64_t> finished_ H5_GUARDED_BY(mutex_);
  std::vector<Published> published_ H5_GUARDED_BY(mutex_);
};

// The part of a Growth that belongs to the reader of one snapshot, which is called a state.
class GrowthState {
 public:
  // `previous` is that of the reader of the previous snapshot, or null.
  GrowthState(std::shared_ptr<cache::BlockCache> cache, const GrowthState* previous);
  ~GrowthState() { cache_->erase_owner(own_); }
  GrowthState(const GrowthState&) = delete;
  GrowthState& operator=(const GrowthState&) = delete;

  // The owner of a block. `is_finished` reads the index; it is called once per state for an unfinished block.
  template <class IsFinished>
  std::uint64_t owner_of(std::uint64_t kind, std::uint64_t index, ByteRange range, IsFinished&& is_finished) {
    const std::uint64_t key = kind << 60 | index;
    if (growth_->finished(key)) return growth_->owner();
    {
      const MutexLock lock(mutex_);
      if (unfinished_.contains(key)) return own_;
    }
    if (is_finished()) {
      growth_->set_finished(key);
      return growth_->owner();
    }
    note(key, range);
    return own_;
  }

  std::uint64_t shared_owner() const { return growth_->owner(); }
  std::uint64_t own_owner() const { return own_; }
  void note_published(ByteRange range) { growth_->note_published(range); }
  // The ranges that became stale when this state began.
  const std::vector<ByteRange>& stale() const { return begun_.stale; }

 private:
  void note(std::uint64_t key, ByteRange range);

  std::shared_ptr<cache::BlockCache> cache_;
  const std::shared_ptr<Growth> growth_;
  const std::uint64_t own_;
  const Growth::Begun begun_;
  Mutex mutex_;
  std::unordered_set<std::uint64_t> unfinished_;
};

}  // namespace h5mount::dataset
