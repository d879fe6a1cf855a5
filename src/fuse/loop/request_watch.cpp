#include "request_watch.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::fuse {
namespace {

constexpr std::chrono::milliseconds kTick{50};
// The time for the thread that works for a request to answer it after its budget has ended: a chunk may have
// to be decoded to its end.
constexpr std::chrono::milliseconds kGraceAfterInterrupt{200};
constexpr std::chrono::seconds kGrace{10};
// The time from one look at a request to the next: an eighth of its age, at most half a second. Each look
// reads files in /proc, and hundreds of requests may hang.
constexpr int kLooksPerAge = 8;
constexpr std::chrono::milliseconds kLongestBetweenLooks{500};

}  // namespace

ActiveRequest::ActiveRequest(fuse_req_t request, ClientKind kind)
    : client_(fuse_req_ctx(request)->pid), kind_(kind), request_(request) {}

void ActiveRequest::begin() {
  budget_.emplace();
  budget_->poll([](void* self) { return static_cast<ActiveRequest*>(self)->abandoned(); }, this);
  begun_.store(true, std::memory_order_release);
}

fuse_req_t ActiveRequest::take() {
  const MutexLock lock(mutex_);
  return std::exchange(request_, nullptr);
}

bool ActiveRequest::answered() const {
  const MutexLock lock(mutex_);
  return request_ == nullptr;
}

bool ActiveRequest::abandoned() {
  if (abandoned_.load(std::memory_order_relaxed)) return true;
  {
    const MutexLock lock(mutex_);
    if (request_ == nullptr) return false;  // what is done after the answer is for the next request
    if (fuse_req_interrupted(request_) != 0) abandoned_ = true;
  }
  if (!abandoned_ && client_has_gone(Clock::now())) abandoned_ = true;
  return abandoned_;
}

bool ActiveRequest::client_has_gone(Clock::time_point now) {
  Clock::time_point next = next_client_look_.load(std::memory_order_relaxed);
  // One of the threads that ask at the same time looks.
  return !young(now) && now >= next &&
         next_client_look_.compare_exchange_strong(next, now + kBetweenClientLooks,
                                                   std::memory_order_relaxed) &&
         client_is_gone(client_, kind_);
}

void ActiveRequest::check(Clock::time_point now) {
  if (now < next_look_) return;
  if (!ended_at_)
    next_look_ = now + std::min<Clock::duration>((now - began_) / kLooksPerAge, kLongestBetweenLooks);
  Status goes_on;
  if (begun_.load(std::memory_order_acquire))
    goes_on = budget_->check();
  else if (abandoned())
    goes_on = fail({ErrorCode::Interrupted, "nobody waits for the answer any more"});
  if (goes_on || answered()) return;
  if (!ended_at_) ended_at_ = next_look_ = now;
  const bool interrupted = goes_on.error().code() == ErrorCode::Interrupted;
  if (now - *ended_at_ < (interrupted ? kGraceAfterInterrupt : Clock::duration(kGrace))) return;
  if (fuse_req_t request = take(); request != nullptr) fuse_reply_err(request, goes_on.error().errno_value());
}

void RequestWatch::start() {
  check_.emplace(kTick, [this](Watchdog::Clock::time_point now) { return check(now); });
}

RequestWatch::Place RequestWatch::add(std::shared_ptr<ActiveRequest> request) {
  std::list<std::shared_ptr<ActiveRequest>> one;
  one.push_back(std::move(request));
  const Place place = one.begin();
  {
    const MutexLock lock(mutex_);
    active_.splice(active_.end(), one);
  }
  if (check_) check_->wake();
  return place;
}

void RequestWatch::remove(Place place) {
  std::list<std::shared_ptr<ActiveRequest>> one;  // freed without the lock
  const MutexLock lock(mutex_);
  one.splice(one.end(), active_, place);
}

// If memory is short, only some of them are looked at.
bool RequestWatch::check(Watchdog::Clock::time_point now) {
  std::vector<std::shared_ptr<ActiveRequest>> old;
  bool any = false;
  try {
    const MutexLock lock(mutex_);
    any = !active_.empty();
    for (const auto& request : active_) {
      if (request->young(now)) break;
      old.push_back(request);
    }
  } catch (const std::bad_alloc&) {
  }
  try {
    for (const auto& request : old) request->check(now);
  } catch (const std::bad_alloc&) {  // of an error's words; there is a next tick
  }
  return any;
}

}  // namespace h5mount::fuse
