#include "virtual_nesting.h"

#include "h5mount/base/limits.h"

namespace h5mount::dataset {
namespace {
constexpr std::uint64_t kMaxReads = 4U << 20;  // a request of 1 MiB has fewer single bytes
}  // namespace

Result<VirtualAncestryPtr> nest(VirtualAncestryPtr outer, const void* file, std::uint64_t address) {
  const unsigned depth = outer ? outer->depth + 1 : 1;
  if (depth > limits::kMaxVirtualDepth)
    return fail(Error(ErrorCode::LimitExceeded, "virtual datasets are nested too deep"));
  for (const VirtualAncestry* at = outer.get(); at != nullptr; at = at->outer.get())
    if (at->file == file && at->address == address)
      return fail(Error(ErrorCode::Cycle, "a virtual dataset is its own source"));
  return std::make_shared<const VirtualAncestry>(file, address, depth, std::move(outer));
}

Status SourceBudget::spend(std::uint64_t reads) {
  reads_ += reads;
  if (reads_ > kMaxReads)
    return fail(Error(ErrorCode::LimitExceeded, "a virtual dataset of too many pieces"));
  return {};
}

}  // namespace h5mount::dataset
