// WaitChoice: how a thread that serves one client in a row waits for the client's next request. Each request
// costs up to two wakes of a sleeping thread: of the server by the request, of the client by the reply. What
// a wake costs depends on the machine (some 2 µs on the same processor, 30 to 60 µs to another one that a
// hypervisor has to start again) and on where the scheduler puts the client, so no way of waiting is best on
// every machine, nor at all times: each is tried for a while, the quickest is kept as long as it stays so,
// and the others are tried again later.
//
// One per thread, which alone uses it.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>

namespace h5mount::fuse {

enum class Wait : std::uint8_t {
  Sleep,   // until the kernel wakes the thread, wherever it likes
  Follow,  // the same, on the processor that the client runs on (client_affinity.h)
  Poll,    // look for the request for a short time before sleeping: the client wakes nobody
};

class WaitChoice {
 public:
  static constexpr std::uint32_t kWindow = 32;   // requests of one client between two decisions
  static constexpr std::uint32_t kForget = 128;  // windows until all ways are tried again
  using Time = std::chrono::steady_clock::time_point;

  // `may_poll`: false if there is no second processor to poll on.
  explicit WaitChoice(bool may_poll = true) : may_poll_(may_poll) {}

  // A request of this client was received at this time. Returns the way to wait for the next one. `client`: 0
  // if the kernel does not name it; kNobody if the request comes from no client and ends no run.
  static constexpr pid_t kNobody = -1;
  Wait received(pid_t client, Time at);
  Wait way() const { return way_; }

 private:
  using Interval = std::chrono::steady_clock::duration;
  static constexpr std::size_t kWays = 3;

  void decide();

  const bool may_poll_;
  pid_t client_ = 0;
  Wait way_ = Wait::Sleep;
  std::uint32_t requests_ = 0, windows_ = 0;
  Time last_{};
  std::array<Interval, kWindow> intervals_{};  // between one request and the next, in this window
  std::array<Interval, kWays> found_{};        // the median when each way was last used; 0: to be tried
};

}  // namespace h5mount::fuse
