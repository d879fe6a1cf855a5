// Virtual datasets over virtual datasets: one object of this on the stack for each that a thread is inside
// of. It ends loops (a view that leads back to itself), depth, and the work that one request can be made to
// do by views that multiply at every level.
#pragma once

#include <cstdint>

#include "h5mount/base/error.h"

namespace h5mount::dataset {

class VirtualNesting {
 public:
  VirtualNesting(const void* file, std::uint64_t dataset_address);
  ~VirtualNesting();
  VirtualNesting(const VirtualNesting&) = delete;
  VirtualNesting& operator=(const VirtualNesting&) = delete;

  Status check() const;  // Cycle or LimitExceeded
  // Of the budget of the outermost request: reads of sources; opening one counts as several.
  static Status spend(std::uint64_t reads = 1);

 private:
  const void* file_;
  std::uint64_t address_;
  const VirtualNesting* outer_;
  unsigned depth_;
};

}  // namespace h5mount::dataset
