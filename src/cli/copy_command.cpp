#include "copy_command.h"

#include <fmt/format.h>
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
void stop_copying_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

// The stamp is taken before anything is copied, so that the version is never newer than what is copied. Many
// files have no stamp.
std::string source_version(const FrontCommand& command, const object::FileSet* files) {
  if (files == nullptr) return {};
  const auto stamp = io::settled_stamp(files->main()->followed->source()->state());
  if (!stamp) return {};
  const MountOptions& options = command.options;
  return fmt::format("{} {:x}-{:x}-{:x}-{:x} {}:{} {:o}:{:o}", H5MOUNT_VERSION, stamp->size, stamp->modified,
                     stamp->sum, stamp->changed, static_cast<std::int64_t>(options.uid.value_or(-1)),
                     static_cast<std::int64_t>(options.gid.value_or(-1)), options.file_umask,
                     options.directory_umask);
}

}  // namespace

Status run_copy(const FrontCommand& command, const object::FileSet* files,
                const std::shared_ptr<tree::Tree>& tree, const front::FailureHandler& failed) {
  stop_copying_on_signals();
  front::CopyProgress progress;
  const bool shown = ::isatty(STDERR_FILENO) == 1;
  front::CopyOptions options;
  options.path = command.paths.front();
  options.destination = command.destination;
  options.threads = command.options.threads.value_or(std::max(std::thread::hardware_concurrency(), 1U));
  options.source_version = source_version(command, files);
  options.stop = &stop;
  options.progress = shown ? &progress : nullptr;
  Status done;
  {
    std::optional<CopyProgressLine> line;
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
