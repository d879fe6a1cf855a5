// How many source files hold a descriptor at once. A file that can be opened again by its name gives its
// descriptor up when others need one, the least recently used first, and is opened again when it is next
// read.
//
// Threads: any. The pool's lock is taken before a descriptor's own; neither is held while a file is opened or
// read.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "h5mount/base/unique_fd.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::io {

// Keeps a descriptor open while somebody uses it, whatever the pool decides meanwhile.
using DescriptorLease = std::shared_ptr<const UniqueFd>;

// The descriptor of one regular file. Without `reopen` it stays open.
class PooledDescriptor {
 public:
  PooledDescriptor(UniqueFd fd, ReopenFile reopen);
  ~PooledDescriptor();
  PooledDescriptor(const PooledDescriptor&) = delete;
  PooledDescriptor& operator=(const PooledDescriptor&) = delete;

  // Errors: Stale where the name no longer leads to the same file, Io where it cannot be opened at the
  // moment.
  Result<DescriptorLease> use() const;
  bool stays_open() const { return !reopen_; }

 private:
  friend class DescriptorPool;

  // Device, inode and, where the file system keeps it, time of birth: inode numbers are used again.
  struct Identity {
    std::uint64_t device = 0, inode = 0;
    std::int64_t born = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity identity_of(int fd);
  DescriptorLease take() const;

  const ReopenFile reopen_;
  const Identity identity_;
  mutable std::mutex mutex_;
  mutable DescriptorLease open_;  // guarded by mutex_ where it can be closed; null: closed
  mutable std::atomic<std::uint64_t> used_ = 0;
};

class DescriptorPool {
 public:
  static DescriptorPool& instance();

  void opened(const PooledDescriptor& descriptor);
  void destroyed(const PooledDescriptor& descriptor);
  // Counts what was opened so far: a descriptor's age.
  std::uint64_t now() const { return now_.load(std::memory_order_relaxed); }

  void set_budget(std::size_t budget);
  std::size_t open_count() const;
  // Closes half of what is open: the process has no descriptor left for something else.
  void make_room();

 private:
  DescriptorPool();
  std::vector<DescriptorLease> close_down_to(std::size_t count);

  std::atomic<std::uint64_t> now_ = 1;
  mutable std::mutex mutex_;  // of what follows
  std::size_t budget_;
  std::unordered_set<const PooledDescriptor*> open_;  // those that can be closed
};

}  // namespace h5mount::io
