// Readahead: what a forward reader will ask for next is made by the workers before it asks.
//
// The image is divided into units of consecutive bytes (a chunk, a stripe, a row block), numbered in image
// order. How many are made ahead is bounded by bytes and by number; each unit is submitted once a reader
// (ReadPattern). Threads: any.
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

// The units of one dataset, as its strategy or reader makes them.
class ReadaheadUnits {
 public:
  virtual ~ReadaheadUnits() = default;
  virtual std::uint64_t unit_end(std::uint64_t unit) const = 0;  // the image offset behind it
  virtual bool unit_cached(std::uint64_t unit) const = 0;        // or being made
  // Into the cache. Errors are dropped: whoever asks for these bytes meets them.
  virtual void make_unit(std::uint64_t unit) const = 0;
};

class Readahead {
 public:
  // `unit_bytes`: image bytes of a whole unit.
  Readahead(const std::shared_ptr<cache::BlockCache>& cache, std::shared_ptr<cache::WorkerPool> workers,
            std::uint64_t unit_bytes, std::uint64_t unit_count);

  // After a forward reader has been given bytes up to unit `current`: submits the units behind it that this
  // reader has not claimed yet. Jobs keep `units` alive; one that the reader has overtaken does nothing.
  void advance(std::shared_ptr<const ReadaheadUnits> units, std::uint64_t current,
               ReadPattern& pattern) const;

 private:
  std::shared_ptr<cache::WorkerPool> workers_;
  std::uint64_t unit_count_;
  std::uint64_t depth_ = 0;  // units made ahead; 0: they are too large
};

}  // namespace h5mount::dataset
