// ClientAffinity: lets a thread that serves one client run on that client's processor. A client that waits
// for each of its requests and the thread that answers them never run at the same time; on two processors
// each request and each reply is an interrupt to a processor that sleeps, which costs two to four times as
// much as the request itself (measured on virtual machines). The scheduler does not know it and prefers an
// idle processor.
//
// One per thread, which alone uses it. After kRun requests of one client in a row the thread is bound to the
// processor that the client last ran on; it is looked up again every kRecheck requests, and the binding ends
// with the first request of another client, or before work that takes long.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace h5mount::fuse {

class ClientAffinity {
 public:
  static constexpr std::uint32_t kRun = 64, kRecheck = 256;

  // The processor that a thread of this machine last ran on; nothing where it cannot be known.
  using Lookup = std::function<std::optional<int>(pid_t)>;
  explicit ClientAffinity(Lookup processor_of = processor_of_thread)
      : processor_of_(std::move(processor_of)) {}

  // A request of this client was answered quickly. 0: of one that the kernel does not name; kNobody: of none.
  static constexpr pid_t kNobody = -1;
  void served(pid_t client) {
    if (client == kNobody) return;
    if (client != client_ || client == 0) {
      release();
      client_ = client;
      run_ = 0;
    } else if (++run_ == next_look_) {
      follow();
    }
  }
  // Restores the processors that were allowed before, where the thread is bound.
  void release();
  bool bound() const { return bound_to_ >= 0; }

  static std::optional<int> processor_of_thread(pid_t thread);

 private:
  void follow();

  Lookup processor_of_;
  pid_t client_ = 0;
  std::uint32_t run_ = 0, next_look_ = kRun;
  int bound_to_ = -1;
  cpu_set_t before_{};
};

}  // namespace h5mount::fuse
