// ClientAffinity: lets a thread that serves one client run on that client's processor. A client that waits
// for each of its requests and the thread that answers them never run at the same time; on two processors
// each request and each reply is an interrupt to a processor that sleeps. The scheduler does not know that
// and prefers an idle processor. If the client moves away at each answer, nothing is gained (wait_choice.h).
//
// One per thread, which alone uses it. The processor that the client last ran on is looked up at its first
// request and then every kRecheck requests.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace h5mount::fuse {

class ClientAffinity {
 public:
  static constexpr std::uint32_t kRecheck = 256;

  // The processor that a thread of this machine last ran on; nullopt if it cannot be determined.
  using Lookup = std::function<std::optional<int>(pid_t)>;
  explicit ClientAffinity(Lookup processor_of = processor_of_thread)
      : processor_of_(std::move(processor_of)) {}

  // Binds the calling thread to the client's processor. To be called for each of the client's requests.
  void follow(pid_t client) {
    if (client != client_) release();
    client_ = client;
    if (requests_++ % kRecheck == 0) bind();
  }
  // If the thread is bound, restores the processors that were allowed before.
  void release();
  bool bound() const { return bound_to_ >= 0; }

  static std::optional<int> processor_of_thread(pid_t thread);

 private:
  void bind();

  Lookup processor_of_;
  pid_t client_ = 0;
  std::uint32_t requests_ = 0;  // since `release`
  int bound_to_ = -1;
  cpu_set_t before_{};
};

}  // namespace h5mount::fuse
