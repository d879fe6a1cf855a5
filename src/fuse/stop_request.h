// StopRequest: ends the session on a signal, or on `ask`. A thread of its own then does what must be done
// while requests are still answered, and interrupts the serving thread until it has noticed (a single signal
// can come just before the serving thread waits, and be lost).
//
// SIGINT, SIGTERM and SIGQUIT count even where they were inherited as ignored, as shells do for background
// commands: a sender of one to this process means it. SIGHUP counts unless it is ignored, which is the
// purpose of nohup. Only one StopRequest with signals at a time.
#pragma once

#include <signal.h>

#include <array>
#include <functional>
#include <thread>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::fuse {

class StopRequest {
 public:
  // Takes signals from now on; one that comes before `serve` is remembered.
  explicit StopRequest(bool handle_signals);
  ~StopRequest();  // restores the previous signal handlers
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // Called before and after the loop that serves. `on_stop` and then, again and again until `end`,
  // `interrupt` run in a thread of their own; after `on_stop` the loop must end when a system call of it is
  // interrupted. `end` may come without `begin`. Throws std::system_error where the system has no thread or
  // descriptor for it.
  void begin(std::function<void()> on_stop, std::function<void()> interrupt);
  void end();

  // A signal without another meaning: its handler does nothing, so that it only ends a system call with
  // EINTR.
  static int wake_signal();

  // From any thread, at any time.
  void ask() const;

 private:
  static constexpr std::array kAlways{SIGINT, SIGTERM, SIGQUIT};
  static constexpr int kUnlessIgnored = SIGHUP;

  void take_signals();
  void wait_and_stop();

  int event_;  // an eventfd, written by `ask`
  bool signals_;
  std::array<struct sigaction, kAlways.size() + 1> before_{};
  std::function<void()> on_stop_, interrupt_;
  std::thread thread_;
  Mutex mutex_;
  Condition changed_;
  bool ended_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::fuse
