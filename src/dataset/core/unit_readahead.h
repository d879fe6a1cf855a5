// Readahead: workers make the units that a forward reader will need next.
//
// A unit is a range of consecutive bytes of the image (a chunk, a stripe, a row block), numbered in image
// order. The units made ahead are bounded by bytes and by number; each unit is submitted once per reader
// (ReadPattern). Threads: any.
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/base/counters.h"
#include "h5mount/cache/block_cache.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/dataset/read_pattern.h"

namespace h5mount::dataset {

// The units of one dataset, implemented by its strategy or reader.
class ReadaheadUnits {
 public:
  virtual ~ReadaheadUnits() = default;
  virtual std::uint64_t unit_end(std::uint64_t unit) const = 0;  // the image offset of the unit's end
  virtual bool unit_cached(std::uint64_t unit) const = 0;        // also true while it is being made
  // Loads the unit into the cache. Errors are dropped: a read of these bytes reports them.
  virtual void make_unit(std::uint64_t unit) const = 0;
  // Tells a far source which bytes making the units [first, last) will read. Returns how many they are.
  virtual std::uint64_t will_make(std::uint64_t first, std::uint64_t last) const {
    (void)first, (void)last;
    return 0;
  }
};

class Readahead {
 public:
  // `unit_bytes`: image bytes of a whole unit. `most_announced`: so many units of a far source are asked for
  // before they are made, further ahead than they are made, so that it has enough requests under way; 0: it
  // is not far.
  Readahead(const std::shared_ptr<cache::BlockCache>& cache, std::shared_ptr<cache::WorkerPool> workers,
            std::shared_ptr<Counters> counters, std::uint64_t unit_bytes, std::uint64_t unit_count,
            std::uint64_t most_announced = 0);

  // To be called after a forward reader received bytes up to unit `current`: submits the units after it that
  // this reader has not claimed yet. Jobs keep `units` alive; a job for a unit that the reader has passed
  // does nothing. `next` is the unit with the next byte, if that is not in `current`: a reader that has all
  // of one unit is about to need the one after, so the units made ahead are counted from there.
  void advance(const std::shared_ptr<const ReadaheadUnits>& units, std::uint64_t current,
               ReadPattern& pattern, std::uint64_t next = 0) const;

 private:
  ByteRange claim_ahead(ReadPattern::Announced& announced, std::uint64_t next) const;
  void announce(const ReadaheadUnits& units, std::uint64_t next, ReadPattern::Announced& announced) const;

  std::shared_ptr<cache::WorkerPool> workers_;
  std::shared_ptr<Counters> counters_;
  std::uint64_t unit_count_;
  std::uint64_t unit_bytes_;
  std::uint64_t depth_ = 0;           // units made ahead; 0: a unit exceeds the budget
  std::uint64_t most_announced_ = 0;  // units asked for ahead; 0: the source is not far
};

}  // namespace h5mount::dataset
