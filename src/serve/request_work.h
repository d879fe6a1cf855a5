// RequestWork: what one request may cost, from its header to the last byte of its answer: work in proportion
// to the source's files and to the bytes that are sent, and time without a byte. It ends when the client
// goes. Threads: the budget from any; all else from the thread that works for the request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "h5mount/base/long_work.h"
#include "h5mount/base/request_budget.h"

namespace h5mount::serve {

class RequestWork : private LongWorkListener {
 public:
  using Clock = std::chrono::steady_clock;

  // `client`: the descriptor of the connection, valid while there is a request; -1: none, it does not go.
  // `most_text`: the bytes of text that may be held for the answer.
  explicit RequestWork(int client = -1, std::size_t most_text = std::size_t{1} << 20);

  RequestBudget& budget() { return budget_; }
  std::size_t most_text() const { return most_text_; }

  // Around each job that works for the request.
  void begin_job();
  void end_job();
  // Around work on a thread that many wait for: where it turns out to take longer, it is interrupted. False:
  // it was, whatever has come of it; other work is then to begin anew, with another of these.
  void begin_quick_job();
  bool end_quick_job();
  bool is_quick() const { return quick_; }
  void give_up() noexcept;
  // A part of an answer is one job; once this is true, what there is of it should be sent.
  bool job_is_old() const;
  Clock::duration job_age() const { return Clock::now() - job_began_; }
  // Whether the request has worked for so long that it may not hold up others any more.
  bool is_long() const { return worked_ > kQuick; }

  // The size of the files that the answer is read from: waiting for large ones may take longer.
  void set_file_bytes(std::uint64_t bytes);
  // The answer has grown by so many bytes, which pay for further work.
  void gave(std::uint64_t bytes);
  // Work that makes no bytes goes on: it has time again, but no more steps.
  void go_on();

  // Whether the time is over; then a failure with ErrorCode::Interrupted is to be called TimedOut.
  bool timed_out() const { return timed_out_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::chrono::milliseconds kQuick{100};
  static bool asked(void* self) { return static_cast<RequestWork*>(self)->is_over(); }
  // For a moment others can wait, as for a packet that is longer.
  static constexpr std::chrono::milliseconds kMoment{2};
  void long_work_ahead() noexcept override { give_up(); }
  bool client_is_gone() const;
  bool is_over();

  RequestBudget budget_;
  const int client_;
  const std::size_t most_text_;
  Clock::time_point job_began_ = Clock::now();
  Clock::duration worked_{0};
  std::atomic<Clock::rep> progress_;  // when a job began, or the answer grew
  std::atomic<std::int64_t> patience_ms_;
  std::atomic<bool> timed_out_ = false;
  std::atomic<bool> quick_ = false;  // a quick job is going on
  std::atomic<bool> gave_up_ = false;
};

}  // namespace h5mount::serve
