// OpenHandles: what the kernel holds open on a mount, by the numbers that it was given. A mount that is ended
// by a signal gets no releases for what is still open, so the table releases it. On a mount that is handed
// over to another process the numbers are the handover's, and what the process before had opened is opened
// again when it is used. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/fuse/handover.h"

namespace h5mount::fuse {

struct OpenHandle {
  OpenHandle(HandleKind of_kind, tree::NodeId opened) : kind(of_kind), node(opened) {}
  virtual ~OpenHandle() = default;
  OpenHandle(const OpenHandle&) = delete;
  OpenHandle& operator=(const OpenHandle&) = delete;

  const HandleKind kind;
  const tree::NodeId node;
  std::shared_ptr<void> pin;  // keeps the tree's file
};

class OpenHandles {
 public:
  explicit OpenHandles(Handover* handover = nullptr) : handover_(handover) {}

  std::uint64_t add(std::shared_ptr<OpenHandle> handle);
  // Null if this process has no handle of that kind under the number.
  template <class T>
  std::shared_ptr<T> find(std::uint64_t number) const {
    return std::dynamic_pointer_cast<T>(find_any(number));
  }
  // The node that the process before had opened under the number. Fails with Stale if there is none.
  Result<tree::NodeId> node_of(std::uint64_t number, HandleKind kind) const;
  // Stores what was opened again, unless another thread was faster.
  void reopen(std::uint64_t number, std::shared_ptr<OpenHandle> handle);
  void remove(std::uint64_t number);
  // Whether the node is open as a file: it is being read then, so stat need not count its blocks.
  bool has_file(tree::NodeId node) const;

 private:
  std::shared_ptr<OpenHandle> find_any(std::uint64_t number) const;
  void insert(std::uint64_t number, std::shared_ptr<OpenHandle> handle) H5_REQUIRES(mutex_);

  Handover* const handover_;
  mutable Mutex mutex_;
  std::uint64_t last_ H5_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<OpenHandle>> handles_ H5_GUARDED_BY(mutex_);
  std::unordered_multiset<tree::NodeId> files_ H5_GUARDED_BY(mutex_);  // of those that are files
};

}  // namespace h5mount::fuse
