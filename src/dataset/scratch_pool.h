// ScratchPool: decoding memory of a bounded number of threads: buffers for stored bytes and for the steps
// between filters. The number of leases bounds both the memory and the concurrent decodes, whatever the
// number of readers: one for each processor, or each thread of the largest worker pool, and one more. The
// holder of a lease only reads and decodes: it never waits for another one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "h5mount/base/scratch_buffer.h"
#include "h5mount/filter/filter.h"

namespace h5mount::dataset {

struct DecodeScratch {
  filter::FilterScratch filters;
  MutableByteSpan stored(std::size_t bytes) { return stored_.grown(bytes); }
  MutableByteSpan plain(std::size_t bytes) { return plain_.grown(bytes); }
  void trim(std::size_t keep);  // frees memory above `keep` bytes per buffer

 private:
  ScratchBuffer stored_, plain_;
};

class ScratchPool {
 public:
  static ScratchPool& shared();
  explicit ScratchPool(unsigned leases) : leases_(leases), free_(leases) {}

  // Makes it at least so many.
  void allow(unsigned leases);

  class Lease {
   public:
    explicit Lease(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Lease() { pool_.give(std::move(scratch_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    DecodeScratch& operator*() { return *scratch_; }
    DecodeScratch* operator->() { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<DecodeScratch> scratch_;
  };

 private:
  std::unique_ptr<DecodeScratch> take();
  void give(std::unique_ptr<DecodeScratch> scratch);

  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned leases_, free_;
  std::vector<std::unique_ptr<DecodeScratch>> kept_;
};

}  // namespace h5mount::dataset
