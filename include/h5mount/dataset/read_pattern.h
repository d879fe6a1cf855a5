// ReadPattern: how the reader of an open file moves through it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/dataset/pieces.h"
#include "h5mount/format/cursor.h"
#include "h5mount/io/ahead_window.h"

namespace h5mount::dataset {

// The accesses of one open file so far. The owner of the open file keeps it; `read` updates it. Threads: any.
class ReadPattern {
 public:
  // Records a read; returns true if the reader moves forward through the file. The kernel's read-ahead may
  // send neighbouring requests out of order: they still count as forward.
  bool note(std::uint64_t offset, std::uint64_t length);
  bool forward() const;  // the result of the last `note`
  // The kernel's read-ahead reorders requests within this distance: two of its windows, which are twice as
  // long for a reader that says that it reads forward (posix_fadvise, as cat does).
  static constexpr std::uint64_t kReorder = 4U << 20;

  // Claims units (row blocks, chunks) after `current` up to and including `last` for read-ahead. Returns
  // those that were not claimed before as [first, second).
  std::pair<std::uint64_t, std::uint64_t> claim_ahead(std::uint64_t current, std::uint64_t last);
  // Claims the units before `current` that this reader has passed since the last call: it does not need them
  // again.
  std::pair<std::uint64_t, std::uint64_t> claim_behind(std::uint64_t current);
  // The extent that a far source was asked for ahead of this reader: units (unit_readahead.h), or bytes of
  // contiguous data.
  struct Announced {
    Mutex mutex;
    AheadWindow ahead H5_GUARDED_BY(mutex) = {};
    std::uint64_t stored_bytes H5_GUARDED_BY(mutex) = 0;  // of a unit, about; 0: not known yet
  };
  Announced& announced() { return announced_; }

  // The pattern in one of the datasets that the one that is read consists of, by its number. A reader that
  // goes forward goes forward there from the first byte on. Those of the latest few are remembered.
  std::shared_ptr<ReadPattern> of_part(std::uint64_t part);

  // Mapped bytes of other files than the open one (Piece::of) that were passed on to this reader.
  void note_mapped(const std::shared_ptr<const MappedBytes>& bytes);
  // Confirms those whose pieces live, once the kernel has copied them.
  Status confirm_mapped() const;

  // The offset after the last byte read, for jobs that may outlive the open file: bytes before it need not be
  // read any more.
  std::shared_ptr<const std::atomic<std::uint64_t>> position() const { return expected_; }

 private:
  std::shared_ptr<std::atomic<std::uint64_t>> expected_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint32_t> streak_{0};
  std::atomic<std::uint64_t> ahead_{0};
  std::atomic<std::uint64_t> behind_{format::kUnlimited};  // kUnlimited: nothing yet
  Announced announced_;

  static constexpr std::size_t kMostParts = 8;
  mutable Mutex mutex_;
  std::vector<std::pair<std::uint64_t, std::shared_ptr<ReadPattern>>> parts_
      H5_GUARDED_BY(mutex_);  // oldest first
  std::vector<std::weak_ptr<const MappedBytes>> mapped_ H5_GUARDED_BY(mutex_);
};

// How a request reads a dataset.
struct ReadAccess {
  ReadPattern* pattern;  // null: random access
  RequestBudget& budget;
};

}  // namespace h5mount::dataset
