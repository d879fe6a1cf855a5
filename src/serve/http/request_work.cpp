#include "request_work.h"

#include <poll.h>

namespace h5mount::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPart{50};
// A byte of an answer pays for 64 steps: decoding it takes one, and text of values 4.
constexpr std::uint64_t kBytesForOneOfTheFile = limits::kRequestStepsPerFileByte / 64;

// The budget has no limit of time, as that would elapse while a slow client takes what it was sent.
RequestBudget::Bounds bounds() {
  return {limits::kRequestSteps, RequestBudget::unbounded().time};
}

}  // namespace

RequestWork::RequestWork(int client, std::size_t most_text, milliseconds patience)
    : budget_(bounds()),
      client_(client),
      most_text_(most_text),
      patience_(patience),
      progress_(Clock::now().time_since_epoch().count()),
      patience_ms_(patience.count()) {
  budget_.poll(&asked, this);
}

void RequestWork::begin_job() {
  job_began_ = Clock::now();
  go_on();
}

void RequestWork::go_on() {
  progress_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

void RequestWork::end_job() {
  worked_ += Clock::now() - job_began_;
}

void RequestWork::begin_quick_job() {
  quick_ = true;
  set_long_work_listener(this);
  begin_job();
}

bool RequestWork::end_quick_job() {
  end_job();
  set_long_work_listener(nullptr);
  quick_ = false;
  return !gave_up_;
}

void RequestWork::give_up() noexcept {
  gave_up_ = true;
  budget_.interrupt();
}

bool RequestWork::job_is_old() const {
  return job_age() > kPart;
}

void RequestWork::set_file_bytes(std::uint64_t bytes) {
  patience_ms_.store(
      patience_.count() + static_cast<std::int64_t>(bytes / limits::kRequestBytesPerMillisecond),
      std::memory_order_relaxed);
}

void RequestWork::gave(std::uint64_t bytes) {
  budget_.allow_more(bytes / kBytesForOneOfTheFile);
  go_on();
}

// Whether the client has gone. A client that shuts down only its own direction cannot be told from one that
// has gone, and is taken for gone.
bool RequestWork::client_is_gone() const {
  if (client_ < 0) return false;
  pollfd connection = {client_, POLLRDHUP, 0};
  return ::poll(&connection, 1, 0) == 1 && (connection.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool RequestWork::is_over() {
  if (quick_) {
    if (job_age() > kMoment) gave_up_ = true;
    return gave_up_;
  }
  if (client_is_gone()) return true;
  const auto waited =
      Clock::now().time_since_epoch() - Clock::duration(progress_.load(std::memory_order_relaxed));
  if (waited <= milliseconds(patience_ms_.load(std::memory_order_relaxed))) return false;
  timed_out_.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace h5mount::serve
