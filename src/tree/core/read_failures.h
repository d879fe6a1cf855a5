// ReadFailures: the failures of reads of a file's datasets: the first failure of each dataset and how many
// there were, for user.hdf5.error, and how many of its sources were missing. Kept by the object's address, as
// long as the snapshot in which they happened is the newest. Bounded: datasets beyond the bound are not
// recorded. Threads: any. A read without failures costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::tree {

class ReadFailures {
 public:
  static constexpr std::size_t kMaxDatasets = 4096;

  bool any() const { return any_.load(std::memory_order_relaxed); }
  // Changes when a failure is recorded or forgotten: as long as it is the same, so are the texts that name
  // the failures.
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

  // A read at `offset` (bytes of the dataset's image) failed.
  void note(std::uint64_t address, std::uint64_t snapshot, std::uint64_t offset, const Error& error);
  // A read of [begin, end) succeeded: a failure within it is over (a missing file was created).
  void note_success(std::uint64_t address, std::uint64_t begin, std::uint64_t end);
  // The first failure, with the number of those that followed.
  std::optional<Error> find(std::uint64_t address, std::uint64_t snapshot) const;

  // Notes that `count` sources of the dataset were missing; returns how many of them are new.
  std::uint64_t note_missing(std::uint64_t address, std::uint64_t snapshot, std::uint64_t count);

 private:
  struct Record {
    std::uint64_t snapshot = 0;
    std::optional<Error> first = {};
    std::uint64_t offset = 0;    // of the first failure
    std::uint64_t failures = 0;  // all of them
    std::uint64_t missing = 0;   // sources
  };
  Record* record_of(std::uint64_t address, std::uint64_t snapshot) H5_REQUIRES(mutex_);

  std::atomic<bool> any_ = false;
  std::atomic<std::uint64_t> changes_ = 0;
  mutable Mutex mutex_;
  // Ordered, because files choose the addresses.
  std::map<std::uint64_t, Record> by_address_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree
