// OpenHandles: what the kernel holds open of a mount, by the numbers it was given. A mount that a signal ends
// gets no releases for what is still open: the table releases it. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::fuse {

struct OpenHandle {
  OpenHandle() = default;
  virtual ~OpenHandle() = default;
  OpenHandle(const OpenHandle&) = delete;
  OpenHandle& operator=(const OpenHandle&) = delete;

  std::shared_ptr<void> pin;  // keeps the tree's file
};

class OpenHandles {
 public:
  std::uint64_t add(std::shared_ptr<OpenHandle> handle);
  // Of a number that `add` returned and `remove` has not been given, for a handle of type T. Without a lock:
  // the kernel releases no handle that a request has named.
  template <class T>
  static std::shared_ptr<T> get(std::uint64_t number) {
    return std::static_pointer_cast<T>(*reinterpret_cast<const Slot*>(number));
  }
  void remove(std::uint64_t number);

 private:
  using Slot = std::shared_ptr<OpenHandle>;

  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::unique_ptr<const Slot>> slots_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
