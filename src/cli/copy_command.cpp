#include "copy_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>

#include "copy_progress.h"

namespace h5mount::cli {
namespace {

std::atomic<bool> stop = false;
std::atomic<int> stopped_by = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  stopped_by = signal;
  stop = true;
}

// The first signal stops the copy cleanly, the second one at once. An ignored signal (nohup) stays ignored.
void catch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

// The status of a file changes with its bytes, whereas its mtime may be set back.
std::timespec last_change(const std::string& file) {
  struct stat st = {};
  return ::stat(file.c_str(), &st) == 0 ? st.st_ctim : std::timespec{};
}

}  // namespace

Status run_copy(const FrontCommand& command, const std::shared_ptr<tree::Tree>& tree,
                const front::FailureHandler& failed) {
  catch_signals();
  front::CopyProgress progress;
  const bool shown = ::isatty(STDERR_FILENO) == 1;
  front::CopyOptions options;
  options.path = command.paths.front();
  options.destination = command.destination;
  options.threads = command.options.threads.value_or(std::max(std::thread::hardware_concurrency(), 1U));
  options.source_changed = last_change(command.file);
  options.stop = &stop;
  options.progress = shown ? &progress : nullptr;
  Status done;
  {
    std::optional<ProgressLine> line;
    if (shown) line.emplace(progress);
    done = front::copy(tree, options, failed);
  }
  if (stop) {
    std::signal(stopped_by, SIG_DFL);
    std::raise(stopped_by);
  }
  return done;
}

}  // namespace h5mount::cli
