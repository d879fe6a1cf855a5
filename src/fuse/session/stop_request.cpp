#include "stop_request.h"

#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace h5mount::fuse {
namespace {

constexpr std::chrono::milliseconds kBetweenWakes{20};

// Signals are blocked in all threads but the main one, which creates and destroys the object.
std::atomic<StopRequest*> g_request = nullptr;

extern "C" void on_signal(int /*signal*/) {
  const int saved = errno;
  if (StopRequest* const request = g_request.load(); request != nullptr) request->ask();
  errno = saved;
}

extern "C" void ignore(int /*signal*/) {}

struct sigaction handler(void (*function)(int)) {
  struct sigaction out = {};
  out.sa_handler = function;
  return out;
}

}  // namespace

int StopRequest::wake_signal() {
  return SIGRTMIN;
}

StopRequest::StopRequest(bool handle_signals)
    : signals_(handle_signals),
      check_(kBetweenWakes, [this](Watchdog::Clock::time_point) { return check(); }) {
  const struct sigaction waking = handler(ignore);
  ::sigaction(wake_signal(), &waking, nullptr);
  if (signals_) take_signals();
}

StopRequest::~StopRequest() {
  if (!signals_) return;
  g_request = nullptr;
  for (std::size_t i = 0; i < kAlways.size(); ++i) ::sigaction(kAlways[i], &before_[i], nullptr);
  ::sigaction(kUnlessIgnored, &before_.back(), nullptr);
}

void StopRequest::take_signals() {
  g_request = this;
  const struct sigaction asking = handler(on_signal);
  sigset_t taken;
  sigemptyset(&taken);
  for (std::size_t i = 0; i < kAlways.size(); ++i) {
    ::sigaction(kAlways[i], &asking, &before_[i]);
    sigaddset(&taken, kAlways[i]);
  }
  ::sigaction(kUnlessIgnored, nullptr, &before_.back());
  if (before_.back().sa_handler != SIG_IGN) ::sigaction(kUnlessIgnored, &asking, nullptr);
  ::pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);  // the parent process may have blocked them
  ::signal(SIGPIPE, SIG_IGN);
}

void StopRequest::begin(std::function<void()> on_stop, std::function<void()> interrupt) {
  {
    const MutexLock lock(mutex_);
    on_stop_ = std::move(on_stop);
    interrupt_ = std::move(interrupt);
  }
  check_.wake();
}

void StopRequest::end() {
  const MutexLock lock(mutex_);
  on_stop_ = interrupt_ = nullptr;
}

void StopRequest::ask() noexcept {
  asked_ = true;
  check_.wake();
}

bool StopRequest::check() {
  const MutexLock lock(mutex_);
  if (!asked_ || !interrupt_) return false;
  if (on_stop_)
    std::exchange(on_stop_, nullptr)();
  else
    interrupt_();
  return true;
}

}  // namespace h5mount::fuse
