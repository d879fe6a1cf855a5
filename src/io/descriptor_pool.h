// DescriptorPool bounds the number of descriptors that source files hold. Files that can be reopened by their
// name have their descriptors closed when others need one, the least recently used first, and reopened at the
// next read.
//
// Threads: any. Lock order: the pool's mutex before a descriptor's. Neither is held while a file is opened or
// read.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::io {

// Keeps a descriptor open while it is in use, even after the pool has dropped it.
using DescriptorLease = std::shared_ptr<const UniqueFd>;
// A lease that counts in the pool's budget until it is closed.
DescriptorLease make_counted_lease(UniqueFd fd);

// The descriptor of one regular file. Without `reopen` it stays open.
class PooledDescriptor {
 public:
  PooledDescriptor(UniqueFd fd, ReopenFile reopen);
  ~PooledDescriptor();
  PooledDescriptor(const PooledDescriptor&) = delete;
  PooledDescriptor& operator=(const PooledDescriptor&) = delete;

  // Fails with Stale if the name no longer leads to the same file, and with Io if it cannot be opened at the
  // moment.
  Result<DescriptorLease> use() const;
  bool stays_open() const { return !reopen_; }

 private:
  friend class DescriptorPool;

  // Device, inode and, if the file system records it, birth time, as inode numbers are reused.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t born = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity identity_of(int fd);
  DescriptorLease take() const;

  const ReopenFile reopen_;
  const Identity identity_;
  mutable Mutex mutex_;
  mutable DescriptorLease open_;  // guarded by mutex_ if `reopen_` is set; null: closed
  mutable std::atomic<std::uint64_t> used_ = 0;
};

class DescriptorPool {
 public:
  static DescriptorPool& instance();

  void opened(const PooledDescriptor& descriptor);
  void destroyed(const PooledDescriptor& descriptor);
  // The number of opens so far, used as a clock for the age of descriptors.
  std::uint64_t now() const { return now_.load(std::memory_order_relaxed); }

  // See DescriptorPlace.
  void take_place();
  void leave_place();
  // Count descriptors that are open, whether or not they are among those that can be closed.
  void count_open() { live_.fetch_add(1, std::memory_order_relaxed); }
  void count_closed() {
    live_.fetch_sub(1, std::memory_order_relaxed);
    ++gone_;
    closed_
        .notify_all();  // without the mutex, which a thread that closes one may hold: the waiters look again
  }

  void set_budget(std::size_t budget);
  std::size_t open_count() const;
  // Closes half of the open descriptors: the process has none left for another file.
  void close_idle();

 private:
  DescriptorPool();
  std::vector<DescriptorLease> close_down_to(std::size_t count) H5_REQUIRES(mutex_);

  bool has_place() const H5_REQUIRES(mutex_) { return live_ + places_ < budget_; }

  std::atomic<std::uint64_t> now_ = 1;
  std::atomic<std::size_t> live_ = 0;
  std::atomic<std::uint64_t> gone_ = 0;  // descriptors and places that were given up: others get on
  Condition closed_;
  mutable Mutex mutex_;
  std::size_t places_ H5_GUARDED_BY(mutex_) = 0;  // for files that are being opened
  std::size_t budget_ H5_GUARDED_BY(mutex_);
  std::unordered_set<const PooledDescriptor*> open_ H5_GUARDED_BY(mutex_);  // those that can be closed
};

}  // namespace h5mount::io
