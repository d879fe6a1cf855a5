// OpenHandles: what the kernel holds open on a mount, by the numbers that it was given. A mount that is ended
// by a signal gets no releases for what is still open, so the table releases it. On a mount that survives its
// servers the numbers are kept for the next server (kept_handles.h), which opens them again when they are
// used. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"
#include "kept_handles.h"

namespace h5mount::fuse {

struct OpenHandle {
  explicit OpenHandle(tree::NodeId opened) : node(opened) {}
  virtual ~OpenHandle() = default;
  OpenHandle(const OpenHandle&) = delete;
  OpenHandle& operator=(const OpenHandle&) = delete;

  virtual HandleKind kind() const = 0;
  const tree::NodeId node;
  std::shared_ptr<void> pin;  // keeps the tree's file
};

class OpenHandles {
 public:
  void keep_in(KeptHandles* kept) { kept_ = kept; }

  std::uint64_t add(std::shared_ptr<OpenHandle> handle);
  // Null if this process has no handle of that kind under the number.
  template <class T>
  std::shared_ptr<T> find(std::uint64_t number) const {
    return std::dynamic_pointer_cast<T>(find_any(number));
  }
  // The record of what an earlier server had opened under the number. Fails with Stale if there is none.
  Result<KeptHandles::Record> opened_before(std::uint64_t number, HandleKind kind) const;
  // Stores what was opened again. Returns false if another thread was faster.
  bool reopen(std::uint64_t number, std::shared_ptr<OpenHandle> handle);
  // Returns the handle; null if this process had not opened it.
  std::shared_ptr<OpenHandle> remove(std::uint64_t number);

  // For an open directory: whether its listing is the one that an earlier server read.
  bool same_listing(std::uint64_t number, std::uint64_t digest, bool begins);
  bool kept() const { return kept_ != nullptr; }

 private:
  std::shared_ptr<OpenHandle> find_any(std::uint64_t number) const;

  KeptHandles* kept_ = nullptr;
  mutable Mutex mutex_;
  std::uint64_t last_ H5_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<OpenHandle>> handles_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
