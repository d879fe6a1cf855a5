#include "salvage_job.h"

#include <chrono>
#include <exception>

#include "core/node.h"
#include "h5mount/base/log.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/thread.h"

namespace h5mount::tree {

namespace {

constexpr std::chrono::milliseconds kAskEvery{50};  // whether a request still waits

}  // namespace

SalvageJob::~SalvageJob() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<SourceTree>> SalvageJob::wait(RequestBudget& budget) {
  {
    const MutexLock lock(mutex_);
    if (done_) return tree_;
  }
  note_long_work();
  budget.allow_more(file_bytes_);
  MutexLock lock(mutex_);
  ++waiting_;
  Status still = {};
  while (!done_ && still) {
    if (!running_) still = begin();
    if (running_) changed_.wait_for(lock, kAskEvery);
    lock.unlock();
    if (still) still = budget.check();
    lock.lock();
    if (error_) still = fail(*error_);
  }
  // The job is stopped when the last request that waits for it is gone, but not because a request has waited
  // too long.
  const bool gone = !still && still.error().code() == ErrorCode::Interrupted;
  if (--waiting_ == 0) {
    if (!done_ && gone) stop_ = true;
    error_.reset();
  }
  if (!done_) return fail(still.error());
  return tree_;
}

std::shared_ptr<SourceTree> SalvageJob::result() const {
  const MutexLock lock(mutex_);
  return tree_;
}

Status SalvageJob::begin() {
  if (thread_.joinable()) thread_.join();  // it is at its last instruction
  stop_ = false;
  try {
    thread_ = start_thread("h5-salvage", [this] { work(); });
  } catch (const std::exception& error) {  // no thread, or no memory for one
    return fail(Error(ErrorCode::Io, std::string("no thread for salvage: ") + error.what()));
  }
  running_ = true;
  return {};
}

void SalvageJob::work() {
  Result<std::shared_ptr<SourceTree>> made = fail(no_memory());
  run_guarded("salvage", [&] { made = make_([this] { return !stop_; }); });
  const bool again = !made && may_succeed_later(made.error());
  if (!made && made.error().code() != ErrorCode::Interrupted)
    run_guarded("salvage", [&] {
      log_once(LogLevel::Warning, name_ + " is shown without salvage: " + made.error().text());
    });
  const MutexLock lock(mutex_);
  running_ = false;
  done_ = !again;
  if (made) tree_ = *std::move(made);
  if (again && !stop_) error_ = made.error();
  changed_.notify_all();
}

}  // namespace h5mount::tree
