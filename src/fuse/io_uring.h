// IoUring: a pair of rings shared with the kernel (io_uring(7)) for commands to a device's driver, and for
// nothing else: the kernel refuses every other operation on it (IORING_REGISTER_RESTRICTIONS), so it opens no
// way around the system calls that a process has given up. System calls are made directly, as liburing
// assumes that one thread submits.
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "h5mount/base/bytes.h"
#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {

class IoUring {
 public:
  struct Command {
    int device = -1;
    std::uint32_t operation = 0;
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint64_t user_data = 0;
    ByteSpan argument;  // at most 80 bytes, copied
  };
  struct Completion {
    std::uint64_t user_data;
    std::int32_t result;
  };

  // At most `commands` may wait for their submission, or for their completion. Fails if this process may not
  // make or use one.
  static Result<std::unique_ptr<IoUring>> make(unsigned commands);
  ~IoUring();  // the kernel cancels what is not complete
  IoUring(const IoUring&) = delete;
  IoUring& operator=(const IoUring&) = delete;

  // May be called from any thread. A command is submitted by the next call of `enter`, whichever thread makes
  // it.
  void push(const Command& command);
  // Submits, and waits for a completion if `wait` is set. Returns 0, or -errno; the kernel may also have
  // submitted less, and has then not waited. May be called from any thread, but with `wait` from one only. A
  // command is completed by the thread that submitted it: the kernel interrupts that thread to do so.
  int enter(bool wait);
  // Submits without waiting. Returns whether all that was pushed before the call is submitted now: the kernel
  // may be short of memory.
  bool submit();
  // To be called by the thread that waits.
  bool ready() const;
  std::optional<Completion> take();

 private:
  IoUring() = default;
  Status map(const io_uring_params& params);
  Status restrict_to_commands() const;
  long call_kernel(std::uint32_t submitted, std::uint32_t awaited, unsigned flags) const;

  struct Mapping {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
    ~Mapping();
  };
  UniqueFd ring_;
  Mapping rings_, commands_;
  std::uint32_t mask_ = 0, completion_mask_ = 0;
  std::uint32_t *head_ = nullptr, *tail_ = nullptr;  // of the commands
  std::uint32_t *completion_head_ = nullptr, *completion_tail_ = nullptr;
  const io_uring_cqe* completions_ = nullptr;
  Mutex pushing_;
};

}  // namespace h5mount::fuse
