// ScratchPool: admission of decodes, and their memory: buffers for stored bytes and for the steps between
// filters. Decodes that need little are admitted by number; others by their bytes, in the order in which they
// ask, so that a few large chunks cannot take all memory, and small chunks never wait for large ones. The
// holder of a lease only reads and decodes: it never waits for another one.
#pragma once

#include <condition_variable>
#include <cstdint>
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

// What a decode needs, and what those that run together may need.
struct DecodeMemory {
  std::uint64_t bytes = 0;
  std::uint64_t together = 0;
};

class ScratchPool {
 public:
  // Decodes of at most so many bytes are admitted by number.
  static constexpr std::uint64_t kSmall = 8U << 20;

  static ScratchPool& shared();
  explicit ScratchPool(unsigned small_decodes) : leases_(small_decodes), free_(small_decodes) {}

  // Makes it at least so many small ones.
  void allow(unsigned leases);

  class Lease {
   public:
    explicit Lease(ScratchPool& pool, const DecodeMemory& memory = {})
        : pool_(pool), bytes_(memory.bytes), scratch_(pool.take(memory)) {}
    ~Lease() { pool_.give(std::move(scratch_), bytes_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    DecodeScratch& operator*() { return *scratch_; }
    DecodeScratch* operator->() { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::uint64_t bytes_;
    std::unique_ptr<DecodeScratch> scratch_;
  };

  std::uint64_t most_bytes_in_flight() const;  // of large decodes so far: for tests

 private:
  std::unique_ptr<DecodeScratch> take(const DecodeMemory& memory);
  void give(std::unique_ptr<DecodeScratch> scratch, std::uint64_t bytes);

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  unsigned leases_, free_;
  std::vector<std::unique_ptr<DecodeScratch>> kept_;
  // Large decodes.
  std::condition_variable admitted_;
  std::uint64_t next_ticket_ = 0, serving_ = 0;
  std::uint64_t in_flight_ = 0, most_in_flight_ = 0;
};

}  // namespace h5mount::dataset
