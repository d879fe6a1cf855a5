// RequestWork: the cost that one request may cause, from its header to the last byte of its answer: work in
// proportion to the source's files and to the bytes that are sent, and time without progress. The request
// ends when the client goes. Threads: the budget from any; everything else from the thread that works for the
// request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "h5mount/base/limits.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/request_budget.h"

namespace h5mount::serve {

class RequestWork : private LongWorkListener {
 public:
  using Clock = std::chrono::steady_clock;

  // `client` is the descriptor of the connection, valid while there is a request; -1: there is no client that
  // could go. `most_text`: the bytes of text that may be held for the answer.
  // `patience`: the time in which a part of the answer must be made; more for large files.
  explicit RequestWork(int client = -1, std::size_t most_text = std::size_t{1} << 20,
                       std::chrono::milliseconds patience = kPatience);

  RequestBudget& budget() { return budget_; }
  std::size_t most_text() const { return most_text_; }

  // To be called before and after each job that works for the request.
  void begin_job();
  void end_job();
  // To be called before and after work on a thread that many wait for: work that turns out to take longer is
  // interrupted. end_quick_job returns false if that happened, whatever the result is; the work must then
  // begin anew elsewhere, with another RequestWork.
  void begin_quick_job();
  bool end_quick_job();
  bool is_quick() const { return quick_; }
  void give_up() noexcept;
  // A part of an answer is one job; once this is true, the part should be sent as it is.
  bool job_is_old() const;
  Clock::duration job_age() const { return Clock::now() - job_began_; }
  // Whether the request has worked for so long that it may not hold up others any more.
  bool is_long() const { return worked_ > kQuick; }

  // The size of the files that the answer is read from: waiting for large ones may take longer.
  void set_file_bytes(std::uint64_t bytes);
  // The answer has grown by `bytes`, which pay for further work.
  void gave(std::uint64_t bytes);
  // Gives work that produces no bytes further time, but no more steps.
  void go_on();

  // Whether the time is over; if so, a failure with ErrorCode::Interrupted should be reported as TimedOut.
  bool timed_out() const { return timed_out_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::chrono::milliseconds kPatience{limits::kRequestMilliseconds};
  static constexpr std::chrono::milliseconds kQuick{100};
  static bool asked(void* self) { return static_cast<RequestWork*>(self)->is_over(); }
  // The time for which others can wait, as they would for a longer packet.
  static constexpr std::chrono::milliseconds kMoment{2};
  void long_work_ahead() noexcept override { give_up(); }
  bool client_is_gone() const;
  bool is_over();

  RequestBudget budget_;
  const int client_;
  const std::size_t most_text_;
  const std::chrono::milliseconds patience_;
  Clock::time_point job_began_ = Clock::now();
  Clock::duration worked_{0};
  std::atomic<Clock::rep> progress_;  // when a job began, or when the answer grew
  std::atomic<std::int64_t> patience_ms_;
  std::atomic<bool> timed_out_ = false;
  std::atomic<bool> quick_ = false;  // a quick job is going on
  std::atomic<bool> gave_up_ = false;
};

}  // namespace h5mount::serve
