// ActiveRequest: a request of the kernel from its arrival to its answer. RequestWatch: the watchdog's look at
// the requests that take long. It interrupts those whose client is gone, and if the thread that works for a
// request does not notice (it may wait for a source that hangs), the watch answers in its place: the client
// goes on, and the kernel counts one request less. The thread ends its work when it can.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <optional>

#include "client_state.h"
#include "h5mount/base/request_budget.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"

namespace h5mount::fuse {

// Threads: any. Exactly one caller takes the request, and answers it.
class ActiveRequest {
 public:
  using Clock = std::chrono::steady_clock;
  // The client of a younger request is not looked up, as most requests end soon.
  static constexpr std::chrono::milliseconds kYoung{100};
  // A client is looked up at most so often: a look reads files in /proc, and work asks at each step.
  static constexpr std::chrono::milliseconds kBetweenClientLooks{10};

  explicit ActiveRequest(fuse_req_t request, ClientKind kind = ClientKind::Waiting);

  // The request, which the caller must answer; null if another caller has taken it. The answer frees it.
  fuse_req_t take();
  bool answered() const;
  // To be called once, before `budget`, when a thread begins to work for the request: its budget starts.
  void begin();
  RequestBudget& budget() { return *budget_; }
  pid_t client() const { return client_; }

  bool young(Clock::time_point now) const { return now - began_ < kYoung; }
  // Whether nobody waits for the answer any more. Once true, it stays true.
  bool abandoned();
  // Called periodically by the watch. Answers with an error if the request is abandoned and no thread works
  // for it, or if its budget has ended and no answer follows within the time that it takes to notice that.
  void check(Clock::time_point now);

 private:
  bool client_has_gone(Clock::time_point now);

  const pid_t client_;
  const ClientKind kind_;
  const Clock::time_point began_ = Clock::now();
  std::optional<RequestBudget> budget_;
  std::atomic<bool> begun_ = false;
  mutable Mutex mutex_;
  fuse_req_t request_ H5_GUARDED_BY(mutex_);  // null: taken
  std::atomic<bool> abandoned_ = false;
  std::atomic<Clock::time_point> next_client_look_ = Clock::time_point();
  // Used only by the watch.
  Clock::time_point next_look_{};
  std::optional<Clock::time_point> ended_at_;  // of the budget, as the watch saw it
};

class RequestWatch {
 public:
  // Keeps a request in the watch's list.
  class Entry {
   public:
    Entry(RequestWatch& watch, std::shared_ptr<ActiveRequest> request)
        : watch_(watch), place_(watch.add(std::move(request))) {}
    ~Entry() { watch_.remove(place_); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    RequestWatch& watch_;
    const std::list<std::shared_ptr<ActiveRequest>>::iterator place_;
  };

  void start();  // before the first request
  void stop() { check_.reset(); }

 private:
  using Place = std::list<std::shared_ptr<ActiveRequest>>::iterator;
  Place add(std::shared_ptr<ActiveRequest> request);
  void remove(Place place);
  bool check(Watchdog::Clock::time_point now);

  Mutex mutex_;
  std::list<std::shared_ptr<ActiveRequest>> active_ H5_GUARDED_BY(mutex_);  // the oldest first
  std::optional<Watchdog::Check> check_;
};

}  // namespace h5mount::fuse
