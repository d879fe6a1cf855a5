// Watchdog: one thread that notices what hangs: requests whose clients are gone, threads that wait for a
// source that does not answer, connections whose clients do not send. An object that has something to look
// after makes a Check:
//
//   Watchdog::Check check{std::chrono::milliseconds(50), [this](auto now) { return look(now); }};
//   check.wake();  // there is something to look after
//
// A check is run when it is made or woken, and then once in each interval as long as it finds something. When
// it has found nothing for a while, it sleeps until it is woken, and if all checks sleep, so does the thread:
// a program that does nothing wakes no processor. Threads: any.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <thread>

#include "h5mount/base/thread_annotations.h"

namespace h5mount {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  // The watchdog of this process. It is never destroyed, and has no thread until the first check is made.
  static Watchdog& shared();

  // `quiet`: how long a check must have found nothing before it sleeps.
  explicit Watchdog(Clock::duration quiet = std::chrono::milliseconds(200));
  ~Watchdog();  // after its checks
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  class Check {
   public:
    // Returns whether there is something to look after. It runs in the watchdog's thread, which all checks
    // share, so it must neither wait nor take long. If it throws, it is run again.
    using Look = std::function<bool(Clock::time_point now)>;

    // Throws std::system_error if the system gives no thread.
    Check(Clock::duration interval, Look look, Watchdog& watchdog = shared());
    // Waits for the end of a running look. Must not be called by a look.
    ~Check();
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;

    // To be called after the data that the look must find were stored, either sequentially consistently (the
    // default of atomics) or under a lock that the look takes. Costs one load while the check is awake.
    // Signal handlers may call it.
    void wake() noexcept;
    bool asleep() const { return asleep_; }

   private:
    friend class Watchdog;
    bool ask(Clock::time_point now) const noexcept;

    Watchdog& watchdog_;
    const Clock::duration interval_;
    const Look look_;
    std::atomic<bool> asleep_ = false;
  };

 private:
  struct Entry {
    Check* check;
    Clock::time_point due, found;  // the next look, and when there was something to look after
    bool slept = false;            // it has been asleep since it was looked at
  };

  void add(Check& check);
  void remove(const Check& check);
  void run();
  Entry* first_due(Clock::time_point now) H5_REQUIRES(mutex_);
  void wait_until(const Clock::time_point* end);

  const Clock::duration quiet_;
  sem_t wake_{};  // posted when the thread must look for work
  std::atomic<bool> stop_ = false;
  Mutex mutex_;
  Condition looked_;
  std::list<Entry> entries_ H5_GUARDED_BY(mutex_);
  const Check* looking_ H5_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount
