#include "virtual_nesting.h"

#include "h5mount/base/limits.h"

namespace h5mount::dataset {
Result<VirtualAncestryPtr> nest(VirtualAncestryPtr outer, const void* file, std::uint64_t address) {
  const unsigned depth = outer ? outer->depth + 1 : 1;
  if (depth > limits::kMaxVirtualDepth)
    return fail(Error(ErrorCode::LimitExceeded, "virtual datasets are nested too deep"));
  for (const VirtualAncestry* at = outer.get(); at != nullptr; at = at->outer.get())
    if (at->file == file && at->address == address)
      return fail(Error(ErrorCode::Cycle, "a virtual dataset is its own source"));
  return std::make_shared<const VirtualAncestry>(file, address, depth, std::move(outer));
}

}  // namespace h5mount::dataset
