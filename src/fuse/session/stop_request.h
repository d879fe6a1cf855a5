// StopRequest: ends the session on a signal, or on `ask`. The watchdog then begins what must be done while
// requests are still answered, and interrupts the serving thread until it has noticed (a single signal can
// come just before the serving thread waits, and be lost).
//
// The order of an end: what may be waiting for requests is ended first (KernelNotifier::stop), then the loop
// that answers them, and then the descriptor is closed.
//
// SIGINT, SIGTERM and SIGQUIT count even if they were inherited as ignored, as shells do for background
// commands: a sender of one to this process means it. SIGHUP counts unless it is ignored, which is the
// purpose of nohup. Only one StopRequest with signals at a time.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <functional>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"

namespace h5mount::fuse {

class StopRequest {
 public:
  // Takes signals from now on; one that comes before `begin` is remembered. Throws std::system_error if the
  // system has no thread for the watchdog.
  explicit StopRequest(bool handle_signals);
  ~StopRequest();  // restores the previous signal handlers

  // To be called before and after the loop that serves. The watchdog calls `on_stop` and then, again and
  // again until `end`, `interrupt`: neither may wait. Once `on_stop` has taken effect, the loop must end when
  // one of its system calls is interrupted. `end` may come without `begin`.
  void begin(std::function<void()> on_stop, std::function<void()> interrupt);
  void end();

  // A signal without another meaning: its handler does nothing, so that it only ends a system call with
  // EINTR.
  static int wake_signal();

  // From any thread, at any time.
  void ask() noexcept;

 private:
  static constexpr std::array kAlways{SIGINT, SIGTERM, SIGQUIT};
  static constexpr int kUnlessIgnored = SIGHUP;

  void take_signals();
  bool check();

  const bool signals_;
  std::array<struct sigaction, kAlways.size() + 1> before_{};
  std::atomic<bool> asked_ = false;
  Mutex mutex_;                                          // held while the functions are called
  std::function<void()> on_stop_ H5_GUARDED_BY(mutex_);  // null: called, or not there
  std::function<void()> interrupt_ H5_GUARDED_BY(mutex_);
  Watchdog::Check check_;
};

}  // namespace h5mount::fuse
