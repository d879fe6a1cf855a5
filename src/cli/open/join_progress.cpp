#include "join_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "h5mount/base/thread.h"
#include "progress_line.h"

namespace h5mount::cli {

JoinProgress::JoinProgress(const std::shared_ptr<tree::Tree>& tree)
    : forest_(std::dynamic_pointer_cast<tree::Forest>(tree)) {
  if (!forest_ || ::isatty(STDERR_FILENO) != 1 || !forest_->counts().joined) return;
  thread_ = start_thread("h5-progress", [this] { run(); });
}

JoinProgress::~JoinProgress() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void JoinProgress::run() {
  constexpr std::chrono::milliseconds kPause{50};
  ProgressLine line(true);
  for (; !stop_; std::this_thread::sleep_for(kPause)) {
    const auto counts = forest_->counts().joined;
    if (!counts || counts->to_read == 0)
      line.clear();
    else if (line.due())
      line.show(fmt::format("reading headers: {} of {} files", counts->reading, counts->to_read));
  }
}

}  // namespace h5mount::cli
