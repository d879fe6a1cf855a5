#include "stop_request.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

namespace h5mount::fuse {
namespace {

constexpr std::chrono::milliseconds kBetweenWakes{20};

std::atomic<int> g_event = -1;

void write_event(int event) {
  const std::uint64_t one = 1;
  (void)!::write(event, &one, sizeof one);
}

extern "C" void on_signal(int /*signal*/) {
  const int saved = errno;
  if (const int event = g_event.load(); event >= 0) write_event(event);
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

StopRequest::StopRequest(bool handle_signals) : event_(::eventfd(0, EFD_CLOEXEC)), signals_(handle_signals) {
  const struct sigaction waking = handler(ignore);
  ::sigaction(wake_signal(), &waking, nullptr);
  if (signals_) take_signals();
}

StopRequest::~StopRequest() {
  if (signals_) {
    g_event = -1;
    for (std::size_t i = 0; i < kAlways.size(); ++i) ::sigaction(kAlways[i], &before_[i], nullptr);
    ::sigaction(kUnlessIgnored, &before_.back(), nullptr);
  }
  if (event_ >= 0) ::close(event_);
}

void StopRequest::take_signals() {
  g_event = event_;
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
  if (event_ < 0) throw std::system_error(EMFILE, std::generic_category(), "no event for signals");
  on_stop_ = std::move(on_stop);
  interrupt_ = std::move(interrupt);
  thread_ = std::thread([this] { wait_and_stop(); });
}

void StopRequest::end() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  ask();
  if (thread_.joinable()) thread_.join();
}

void StopRequest::ask() const {
  write_event(event_);
}

void StopRequest::wait_and_stop() {
  std::uint64_t asked = 0;
  while (::read(event_, &asked, sizeof asked) < 0 && errno == EINTR) {
  }
  MutexLock lock(mutex_);
  if (ended_) return;
  lock.unlock();
  on_stop_();
  lock.lock();
  while (!ended_) {
    interrupt_();
    changed_.wait_for(lock, kBetweenWakes);
  }
}

}  // namespace h5mount::fuse
