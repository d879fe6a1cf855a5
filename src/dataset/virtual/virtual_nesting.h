// Virtual datasets over virtual datasets: bounds for loops and depth. Every level may multiply the number of
// sources: the budget of the request bounds their reads (limits::kStepsPerSource).
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/base/error.h"

namespace h5mount::dataset {

// A virtual dataset and the virtual datasets that it was opened for, as a source of a source.
struct VirtualAncestry {
  const void* file;       // the OpenedFile of the virtual dataset
  std::uint64_t address;  // address of the virtual dataset's object header
  unsigned depth;         // 1: not opened as a source
  std::shared_ptr<const VirtualAncestry> outer;
};
using VirtualAncestryPtr = std::shared_ptr<const VirtualAncestry>;

// The ancestry of a virtual dataset that is opened within `outer` (may be null). Fails with Cycle if it is
// already in `outer`, and with LimitExceeded if it is nested too deep.
Result<VirtualAncestryPtr> nest(VirtualAncestryPtr outer, const void* file, std::uint64_t address);

}  // namespace h5mount::dataset
