// RingQueue: the requests that come by one io_uring: those of the clients of one processor, and of further
// ones if there are more processors than rings.
//
// An entry is a place for one request: the kernel holds it until a request has come, and this process until
// the request is answered; the answer gives it back. From the beginning there are as many entries as requests
// that may be worked for at a time: a request that finds none waits until an entry is given back, not for a
// new one. The kernel uses the entry that it was given last, so memory is touched only for as many entries as
// were in use at once.
//
// The kernel copies a request into an entry in the thread that gave the entry back, which it interrupts for
// it. A thread that cannot be interrupted, because it waits for a disk, delays the requests of its entries;
// so rings serve only sources on local disks (ring_transport.h). When a thread ends, its entries come back
// with an error, and are registered again.
#pragma once

#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fuse_uring_abi.h"
#include "io_uring.h"
#include "serving_loop.h"

namespace h5mount::fuse {

class RingQueue final : public RequestChannel {
 public:
  // `processors`: those whose requests come here. Each entry has room for a reply of `payload_bytes`.
  static Result<std::unique_ptr<RingQueue>> make(const std::vector<std::uint16_t>& processors,
                                                 unsigned entries, std::size_t payload_bytes);
  ~RingQueue() override;

  // To be called once, by the thread that is to lead: offers the entries to the kernel. Fails if the kernel
  // does not take them. By then it lets all requests wait for the rings, unless it has refused one itself; so
  // whatever else may fail has to fail in `make`.
  Status begin(fuse_session* session);

  int receive(fuse_buf& buffer) override;
  bool ready() const override { return ring_->ready(); }
  void process(const fuse_buf& buffer) noexcept override;
  bool ended() const override { return fuse_session_exited(session_) != 0; }
  pid_t client_of(const fuse_buf& buffer) const override;
  void flush() override { submit(); }

  // The queue of the request that this thread processes; null if that came by no ring.
  static RingQueue* current();

  // To be called when the loop has ended: the kernel gives the entries up.
  void close() { ring_.reset(); }

  // Answers a request that came by this ring, like writev(2), with fuse_out_header first. Returns nullopt if
  // the request did not come by this ring. Threads: any.
  std::optional<ssize_t> answer(std::span<const ::iovec> reply);

 private:
  struct Entry {
    UringHeaders* headers = nullptr;
    MutableByteSpan payload;
    std::array<::iovec, 2> places{};  // of these two, for the kernel
    std::uint16_t processor = 0;
    bool tried_again = false;               // registered again, and no request came since
    std::atomic<std::uint64_t> request{0};  // its number; 0: the kernel has the entry
  };

  explicit RingQueue(std::size_t entries) : entries_(entries) {}
  Status map_entries(std::size_t payload_bytes);
  void submit();
  void register_entry(const Entry& entry);
  std::uint64_t number_of(const Entry& entry) const {
    return static_cast<std::uint64_t>(&entry - entries_.data());
  }
  std::optional<IoUring::Completion> next();
  bool take(Entry& entry, fuse_buf& buffer);
  void lost(Entry& entry);
  void give_back(Entry& entry, const fuse_out_header& header, std::size_t payload);
  Entry* find(std::uint64_t request);

  std::unique_ptr<IoUring> ring_;
  fuse_session* session_ = nullptr;
  std::vector<Entry> entries_;
  std::byte* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  // Used only by the leader.
  std::vector<IoUring::Completion> early_;  // that came while the entries were registered
  std::size_t alive_ = 0;                   // entries that are not lost
};

}  // namespace h5mount::fuse
