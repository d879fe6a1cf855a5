// KeptHandles: the handles that the kernel holds open on a mount that survives its servers, by number. A
// server writes them, and the next one reads them when it takes the mount over. Threads: any.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"
#include "kept_memory.h"

namespace h5mount::fuse {

class KeptHandles {
 public:
  explicit KeptHandles(const KeptMemory& memory);

  struct Record {
    HandleKind kind = HandleKind::None;
    tree::NodeId node = 0;
    std::uint64_t listing = 0;
  };
  // Throws std::bad_alloc if no more handles can be kept.
  std::uint64_t add(HandleKind kind, tree::NodeId node);
  void remove(std::uint64_t number);
  std::optional<Record> find(std::uint64_t number) const;
  void set_listing(std::uint64_t number, std::uint64_t digest);

 private:
  const KeptMemory& memory_;
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, Record> records_ H5_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
