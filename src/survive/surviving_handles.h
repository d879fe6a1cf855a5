// SurvivingHandles: the handles that the kernel holds open on a mount that survives its servers, by number. A
// server writes them, and the next one reads them when it takes the mount over. Threads: any.
#pragma once

#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "surviving_memory.h"

namespace h5mount::survive {

class SurvivingHandles {
 public:
  explicit SurvivingHandles(const SurvivingMemory& memory);

  // Throws std::bad_alloc if no more handles can be kept.
  std::uint64_t add(HandleKind kind, tree::NodeId node);
  void remove(std::uint64_t number);
  // Fails with Stale if there is none of that kind.
  Result<tree::NodeId> node_of(std::uint64_t number, HandleKind kind) const;
  // A client in the middle of a listing continues by positions in it, so the listing must be the same; at the
  // beginning of a listing any is accepted.
  Status check_listing(std::uint64_t number, const tree::DirectoryListing& names, bool begins);

 private:
  SharedHandle* find(std::uint64_t number) const H5_REQUIRES(mutex_);  // null: there is none

  const SurvivingMemory& memory_;
  mutable Mutex mutex_;
  std::vector<std::uint32_t> free_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::survive
