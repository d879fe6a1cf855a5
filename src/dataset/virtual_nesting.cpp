#include "virtual_nesting.h"

#include "h5mount/base/limits.h"

namespace h5mount::dataset {
namespace {
constexpr std::uint64_t kMostReads = 4U << 20;  // a request of 1 MiB has no more single bytes by far
thread_local const VirtualNesting* t_innermost = nullptr;
thread_local std::uint64_t t_reads = 0;
}  // namespace

VirtualNesting::VirtualNesting(const void* file, std::uint64_t dataset_address)
    : file_(file), address_(dataset_address), outer_(t_innermost), depth_(outer_ ? outer_->depth_ + 1 : 1) {
  if (outer_ == nullptr) t_reads = 0;
  t_innermost = this;
}

VirtualNesting::~VirtualNesting() {
  t_innermost = outer_;
}

Status VirtualNesting::check() const {
  if (depth_ > limits::kMaxVirtualDepth)
    return fail(Error(ErrorCode::LimitExceeded, "virtual datasets are nested too deep"));
  for (const VirtualNesting* at = outer_; at != nullptr; at = at->outer_)
    if (at->file_ == file_ && at->address_ == address_)
      return fail(Error(ErrorCode::Cycle, "a virtual dataset is its own source"));
  return {};
}

Status VirtualNesting::spend(std::uint64_t reads) {
  t_reads += reads;
  if (t_reads > kMostReads)
    return fail(Error(ErrorCode::LimitExceeded, "a virtual dataset of too many pieces"));
  return {};
}

}  // namespace h5mount::dataset
