// RingTransport: takes a mount's requests from io_urings, one for each processor, in place of /dev/fuse. The
// answer to a request and the wait for the next are one system call, and client and server wake each other on
// the same processor. /dev/fuse is still used for requests that come before the rings are there, for FORGET
// and INTERRUPT, and for notifications.
//
// The rings are made before the mount is served, and while the process may still make them. The first reply
// (FUSE_INIT) agrees on their use, and every ring's leader then registers its entries: until all leaders
// have, the kernel lets requests wait. If one is refused, the kernel sends all requests to /dev/fuse, as it
// does without rings.
//
// libfuse's replies come here (fuse_session_custom_io), whichever way their requests came.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "ring_queue.h"
#include "serving_loop.h"

namespace h5mount::fuse {

class RingTransport {
 public:
  // Bytes of the largest request. Each entry has room for one; room for 1 MiB was no faster.
  static constexpr std::size_t kMaxReplyBytes = 256U << 10;
  static constexpr unsigned kMaxRings = 64;
  static constexpr unsigned kEntries = 1024;  // of all rings
  // Requests for pages at a time, so that no more entries than these have held large replies: 32 MiB.
  static constexpr std::uint16_t kMaxBackground = 128;

  // The error says why there cannot be any rings.
  static Result<std::unique_ptr<RingTransport>> make();
  ~RingTransport();
  RingTransport(const RingTransport&) = delete;
  RingTransport& operator=(const RingTransport&) = delete;

  // To be called once the session has its descriptor, before its first request. Another thread calls
  // `decided` once, when it is known whether the rings are used; its error says why not.
  Status attach(fuse_session* session, std::function<void(const Status&)> decided);

  // Starts the threads that serve the rings, before the first request. Throws std::system_error if the system
  // refuses a thread.
  void start(const ServingLoop::Options& options);
  void interrupt();       // ends their waits
  void await_decision();  // until it is known whether the rings are used, or the end has come
  // To be called when no further requests come: returns when those that came are answered, and the kernel no
  // longer uses the rings.
  void end();

  // By these, libfuse reads requests and writes replies.
  ssize_t read(int device, std::span<std::byte> request);
  ssize_t write(int device, std::span<::iovec> reply);

 private:
  struct Ring {
    std::unique_ptr<RingQueue> queue;
    std::unique_ptr<ServingLoop> loop;
    std::thread thread;
    std::atomic<bool> running = false;
  };
  enum class Agreed : std::uint8_t { NotYet, Yes, No };

  RingTransport() = default;
  void serve(Ring& ring);
  ssize_t reply_to_init(int device, std::span<::iovec> reply);
  void agree(Agreed agreed);
  Agreed await_agreement();
  void note_begun(const Status& begun);

  fuse_session* session_ = nullptr;
  std::uint64_t init_request_ = 0;  // the FUSE_INIT that offers rings, until its reply; else 0
  std::vector<std::unique_ptr<Ring>> rings_;

  Mutex mutex_;
  Condition changed_;
  Agreed agreed_ H5_GUARDED_BY(mutex_) = Agreed::NotYet;
  std::function<void(const Status&)> decided_ H5_GUARDED_BY(mutex_);
  std::size_t begun_ H5_GUARDED_BY(mutex_) = 0;
  bool settled_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::fuse
