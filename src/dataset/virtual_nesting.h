// Virtual datasets over virtual datasets: bounds for loops, depth, and the work that one request can cause
// where every level multiplies the number of sources.
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/base/error.h"
#include "h5mount/metadata/torn_retry.h"

namespace h5mount::dataset {

// A virtual dataset and the virtual datasets that it was opened for, as a source of a source.
struct VirtualAncestry {
  const void* file;       // its OpenedFile
  std::uint64_t address;  // of its object header
  unsigned depth;         // 1: it is not opened as a source
  std::shared_ptr<const VirtualAncestry> outer;
};
using VirtualAncestryPtr = std::shared_ptr<const VirtualAncestry>;

// The ancestry of a virtual dataset that is opened within `outer` (may be null). Errors: Cycle where it is
// already in `outer`, LimitExceeded where it is nested too deep.
Result<VirtualAncestryPtr> nest(VirtualAncestryPtr outer, const void* file, std::uint64_t address);

// The number of source reads that one request may make, at all levels together. One thread uses it at a time.
class SourceBudget {
 public:
  SourceBudget() = default;
  SourceBudget(const SourceBudget&) = delete;
  SourceBudget& operator=(const SourceBudget&) = delete;

  // Charges reads of sources; opening one counts as several. LimitExceeded where the budget is spent.
  Status spend(std::uint64_t reads = 1);
  metadata::RetryBudget& retries() { return retries_; }

 private:
  std::uint64_t reads_ = 0;
  metadata::RetryBudget retries_;
};

}  // namespace h5mount::dataset
