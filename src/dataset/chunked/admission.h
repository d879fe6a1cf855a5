// Admission: places for work on chunks, and the memory for it: buffers for stored bytes and for the steps
// between filters. Decodes have places of their own, and so have reads of far sources (chunk_decode.h).
// Small ones are admitted by their number; others by their bytes, so that a few large chunks
// cannot take all memory, and small chunks never wait for large ones. Datasets whose decodes wait take turns:
// one with many slow chunks holds up another for one of them. A thread that runs may pass those that have
// waited for a short time only.
//
// The holder of a lease only reads and decodes: it never waits for another one. If it waits for a source for
// long, its place is released for the next decode, and it waits for a place again before it goes on: a source
// that hangs delays only those that need it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fair_turns.h"
#include "h5mount/base/scratch_buffer.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"
#include "h5mount/filter/filter.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::dataset {

// The bytes that a decode needs, and the bytes that all decodes which run together may need.
struct DecodeMemory {
  std::uint64_t bytes = 0;
  std::uint64_t together = 0;
  const void* owner = nullptr;  // the same for all chunks of a dataset
};

class Admission;

class DecodeScratch {
 public:
  filter::FilterScratch filters;
  MutableByteSpan stored(std::size_t bytes) { return stored_.grown(bytes); }
  MutableByteSpan plain(std::size_t bytes) { return plain_.grown(bytes); }
  void trim(std::size_t keep);  // frees memory above `keep` bytes per buffer

  // Reads by ByteSource::read_at; all reads of a decode go through this function.
  Status read(const io::ByteSource& source, std::uint64_t address, MutableByteSpan out);

 private:
  friend class Admission;
  ScratchBuffer stored_, plain_;
  // Set while the scratch is leased.
  Admission* pool_ = nullptr;
  DecodeMemory memory_;
  std::atomic<std::int64_t> reading_since_ = 0;  // nanoseconds of the steady clock; 0: not reading
  std::atomic<bool> place_released_ = false;     // changed with the pool's mutex held
};

class Admission {
 public:
  // Decodes of at most this many bytes are admitted by number.
  static constexpr std::uint64_t kSmall = 8U << 20;

  // Reads of far sources of at most this many bytes are admitted by number, others by their bytes, which
  // may be no more than that together.
  static constexpr std::uint64_t kSmallFetch = 1U << 20;
  static constexpr std::uint64_t kFetchBytes = 32U << 20;

  static Admission& decodes();
  // The places for reads of far sources, which bound the requests in flight and the memory for their bytes.
  static Admission& fetches();

  struct Bounds {
    std::uint64_t small = kSmall;  // work that needs at most this many bytes is admitted by number
    // How long a source may take to answer until its reader's place is released for another decode: so long,
    // and the time that its bytes take at this rate, in bytes a second.
    std::chrono::milliseconds hangs_after{500};
    std::uint64_t least_rate = UINT64_MAX;
    // The bytes of large work whose place is released, so that slow sources do not take all memory.
    std::uint64_t most_released = UINT64_MAX;
  };
  explicit Admission(unsigned small_decodes) : Admission(small_decodes, Bounds()) {}
  Admission(unsigned small_decodes, const Bounds& bounds)
      : bounds_(bounds), leases_(small_decodes), free_(small_decodes) {
    idle_.reserve(leases_);
  }

  // Raises the number of small decodes that may run together to `leases`, if it is lower.
  void allow(unsigned leases);

  class Lease {
   public:
    explicit Lease(Admission& pool, const DecodeMemory& memory = {})
        : pool_(pool), scratch_(pool.acquire(memory)) {}
    ~Lease() { pool_.release(std::move(scratch_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    DecodeScratch& operator*() { return *scratch_; }
    DecodeScratch* operator->() { return scratch_.get(); }

   private:
    Admission& pool_;
    std::unique_ptr<DecodeScratch> scratch_;
  };

  // For tests: the largest number of bytes of large decodes that ran together so far; the number of decodes
  // that wait now.
  std::uint64_t most_bytes_in_flight() const;
  std::size_t waiting() const;

 private:
  friend class DecodeScratch;
  std::unique_ptr<DecodeScratch> acquire(const DecodeMemory& memory);
  void release(std::unique_ptr<DecodeScratch> scratch);
  enum class Line : std::uint8_t { Owners, First };
  void wait_for_place(const DecodeMemory& memory, Line line, MutexLock& lock) H5_REQUIRES(mutex_);
  void acquire_place_again(DecodeScratch& scratch);
  void release_place(const DecodeMemory& memory) H5_REQUIRES(mutex_);
  void watch_for_hanging() H5_REQUIRES(mutex_);
  void release_places_of_hanging() H5_REQUIRES(mutex_);
  bool fits(const DecodeMemory& memory) const H5_REQUIRES(mutex_);
  bool is_large(const DecodeMemory& memory) const { return memory.bytes > bounds_.small; }
  bool hangs(const DecodeScratch& scratch, std::int64_t now) const;

  const Bounds bounds_;
  mutable Mutex mutex_;
  FairTurns small_ H5_GUARDED_BY(mutex_), large_ H5_GUARDED_BY(mutex_);
  unsigned leases_ H5_GUARDED_BY(mutex_);
  unsigned free_ H5_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<DecodeScratch>> idle_ H5_GUARDED_BY(mutex_);  // with room for one per lease
  std::vector<DecodeScratch*> leased_ H5_GUARDED_BY(mutex_);
  std::uint64_t in_flight_ H5_GUARDED_BY(mutex_) = 0;  // bytes of the large decodes that run
  std::uint64_t most_in_flight_ H5_GUARDED_BY(mutex_) = 0;
  std::uint64_t released_ H5_GUARDED_BY(mutex_) = 0;  // bytes of the large decodes whose place is released
  std::optional<Watchdog::Check> check_;              // exists once a decode has waited
};

}  // namespace h5mount::dataset
