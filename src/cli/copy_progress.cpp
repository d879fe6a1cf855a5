#include "copy_progress.h"

#include <fmt/format.h>

#include <cmath>

#include "h5mount/base/thread.h"

namespace h5mount::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{500};

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string progress_text(const front::CopyProgress& progress, std::chrono::duration<double> elapsed) {
  const auto done = static_cast<double>(progress.bytes.load());
  const auto all = static_cast<double>(progress.all_bytes.load());
  const bool counted = progress.counted;
  std::string out = bytes_text(done) + (counted ? " of " + bytes_text(all) : "");
  if (counted)
    out += fmt::format(", {} of {} files", progress.files.load(), progress.all_files.load());
  else if (progress.files > 0)  // an archive's are not counted
    out += fmt::format(", {} files", progress.files.load());
  // Files that already existed do not count for the rate.
  const double rate =
      (done - static_cast<double>(progress.kept_bytes.load())) / std::max(elapsed.count(), 1e-3);
  out += fmt::format(", {}/s", bytes_text(std::max(rate, 0.0)));
  if (counted && rate > 0 && all >= done) out += fmt::format(", {} left", duration((all - done) / rate));
  return out;
}

CopyProgressLine::CopyProgressLine(const front::CopyProgress& progress, bool stays)
    : progress_(progress), stays_(stays) {
  thread_ = start_thread("h5-progress", [this] {
    MutexLock lock(mutex_);
    auto next = std::chrono::steady_clock::now() + kInterval;
    while (!ended_) {
      if (ending_.wait_until(lock, next)) continue;
      run_guarded("h5-progress", [this] { show(); });
      next += kInterval;
    }
  });
}

CopyProgressLine::~CopyProgressLine() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  thread_.join();
  if (!stays_) return;
  show();
  line_.keep();
}

void CopyProgressLine::clear() {
  const MutexLock lock(mutex_);
  line_.clear();
}

void CopyProgressLine::show() {
  line_.show(progress_text(progress_, std::chrono::steady_clock::now() - start_));
}

}  // namespace h5mount::cli
