// Virtual datasets over virtual datasets: what ends loops, depth, and the work that one request can cause by
// views that multiply at every level.
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/base/error.h"
#include "h5mount/metadata/torn_retry.h"

namespace h5mount::dataset {

// A virtual dataset, and those that it was opened for as a source of a source.
struct VirtualAncestry {
  const void* file;       // its OpenedFile
  std::uint64_t address;  // of its object header
  unsigned depth;         // 1: it is nobody's source
  std::shared_ptr<const VirtualAncestry> outer;
};
using VirtualAncestryPtr = std::shared_ptr<const VirtualAncestry>;

// The ancestry of a virtual dataset that is opened within `outer` (may be null). Errors: Cycle where it is
// one of these itself, LimitExceeded where it is nested too deep.
Result<VirtualAncestryPtr> nest(VirtualAncestryPtr outer, const void* file, std::uint64_t address);

// What one request may spend on sources, at all levels together. One thread uses it at a time.
class SourceBudget {
 public:
  SourceBudget() = default;
  SourceBudget(const SourceBudget&) = delete;
  SourceBudget& operator=(const SourceBudget&) = delete;

  // Reads of sources; opening one counts as several. LimitExceeded.
  Status spend(std::uint64_t reads = 1);
  metadata::RetryBudget& retries() { return retries_; }

 private:
  std::uint64_t reads_ = 0;
  metadata::RetryBudget retries_;
};

}  // namespace h5mount::dataset
