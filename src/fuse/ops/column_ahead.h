// ColumnAhead: for a reader at equal distances, decodes the pages that it will need next and stores them in
// the kernel's page cache. A page that needs no request costs such a reader less than any reply. One per open
// file. Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "h5mount/base/thread_annotations.h"
#include "page_store.h"
#include "stride_pattern.h"

namespace h5mount::fuse {

class ColumnAhead : public std::enable_shared_from_this<ColumnAhead> {
 public:
  explicit ColumnAhead(PageTarget target);

  void note(std::uint64_t offset, std::uint64_t length);
  // Jobs that are running end soon.
  void stop() { run_ = kStopped; }

 private:
  void store_batch(std::uint64_t run, const StridePattern::Batch& batch, std::uint64_t first,
                   std::uint64_t last) const;

  static constexpr std::uint64_t kStopped = format::kUnlimited;
  const PageTarget target_;
  std::atomic<std::uint64_t> run_ = 0;  // jobs of other runs do nothing
  Mutex mutex_;
  StridePattern pattern_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
