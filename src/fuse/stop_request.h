// StopRequest: somebody wants the session to end: a signal, or `ask`. A thread of its own then does what has
// to be done while requests are still answered, and wakes the serving thread until that has noticed (a single
// signal can come just before the serving thread waits, and be lost).
//
// SIGINT, SIGTERM and SIGQUIT ask, also where they were inherited as ignored, as shells have it for commands
// in their background: whoever sends one to this process means it. SIGHUP asks unless it is ignored: that is
// what nohup is for. One StopRequest with signals at a time.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace h5mount::fuse {

class StopRequest {
 public:
  // From here on signals are taken; one that comes before `serve` is remembered.
  explicit StopRequest(bool handle_signals);
  ~StopRequest();  // signals do again what they did before
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // Called in the thread that serves, around its loop. `on_stop` runs in the other thread, once, when it is
  // asked; the loop must end after it once a system call is interrupted.
  void begin(std::function<void()> on_stop);
  void end();

  // From any thread, at any time.
  void ask() const;

 private:
  static constexpr std::array kAlways{SIGINT, SIGTERM, SIGQUIT};
  static constexpr int kUnlessIgnored = SIGHUP;

  void take_signals();
  void wait_and_stop();

  int event_;  // an eventfd, written by whoever asks
  bool signals_;
  std::array<struct sigaction, kAlways.size() + 1> before_{};
  std::function<void()> on_stop_;
  pthread_t serving_{};
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;  // guarded by mutex_
};

}  // namespace h5mount::fuse
