#include "h5mount/base/watchdog.h"

#include <ctime>
#include <utility>

#include "h5mount/base/thread.h"

namespace h5mount {

Watchdog& Watchdog::shared() {
  static auto* const watchdog = new Watchdog;
  return *watchdog;
}

Watchdog::Watchdog(Clock::duration quiet) : quiet_(quiet) {
  ::sem_init(&wake_, 0, 0);
}

Watchdog::~Watchdog() {
  stop_ = true;
  ::sem_post(&wake_);
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
  ::sem_destroy(&wake_);
}

Watchdog::Check::Check(Clock::duration interval, Look look, Watchdog& watchdog)
    : watchdog_(watchdog), interval_(interval), look_(std::move(look)) {
  watchdog_.add(*this);
}

Watchdog::Check::~Check() {
  watchdog_.remove(*this);
}

void Watchdog::Check::wake() noexcept {
  if (asleep_.load() && asleep_.exchange(false)) ::sem_post(&watchdog_.wake_);
}

bool Watchdog::Check::ask(Clock::time_point now) const noexcept {
  bool found = true;
  run_guarded("a check", [&] { found = look_(now); });  // without memory: there is a next look
  return found;
}

void Watchdog::add(Check& check) {
  const auto now = Clock::now();
  const MutexLock lock(mutex_);
  entries_.push_back({&check, now, now});
  try {
    if (!thread_.joinable()) thread_ = start_thread("h5-watchdog", [this] { run(); });
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  ::sem_post(&wake_);
}

void Watchdog::remove(const Check& check) {
  MutexLock lock(mutex_);
  while (looking_ == &check) looked_.wait(lock);
  entries_.remove_if([&](const Entry& entry) { return entry.check == &check; });
}

// Returns null if all checks are asleep.
Watchdog::Entry* Watchdog::first_due(Clock::time_point now) {
  Entry* first = nullptr;
  for (Entry& entry : entries_) {
    if (entry.check->asleep_) continue;
    if (std::exchange(entry.slept, false)) entry.due = entry.found = now;
    if (first == nullptr || entry.due < first->due) first = &entry;
  }
  return first;
}

void Watchdog::wait_until(const Clock::time_point* end) {
  if (end == nullptr) {
    ::sem_wait(&wake_);
    return;
  }
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(end->time_since_epoch()).count();
  const timespec when{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
  ::sem_clockwait(&wake_, CLOCK_MONOTONIC, &when);
}

void Watchdog::run() {
  MutexLock lock(mutex_);
  while (!stop_) {
    const auto now = Clock::now();
    Entry* const entry = first_due(now);
    if (entry == nullptr || entry->due > now) {
      const Clock::time_point due = entry == nullptr ? now : entry->due;
      lock.unlock();
      wait_until(entry == nullptr ? nullptr : &due);
      lock.lock();
      continue;
    }
    Check& check = *entry->check;
    const bool was_quiet = now - entry->found >= quiet_;
    looking_ = &check;
    lock.unlock();
    bool found = check.ask(now);
    if (!found && was_quiet) {
      // Data stored before this are found by one more look; data stored later wake the check.
      check.asleep_ = true;
      found = check.ask(now);
      if (found) check.asleep_ = false;
    }
    lock.lock();
    looking_ = nullptr;
    looked_.notify_all();
    entry->slept = !found && was_quiet;
    if (found) entry->found = now;
    entry->due = Clock::now() + check.interval_;
  }
}

}  // namespace h5mount
