#include "change_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>

#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"

namespace h5mount::fuse {
namespace {

constexpr int kPause = 500;  // milliseconds between two calls of the tree
// Milliseconds between two calls without an event, if the file may be replaced.
constexpr int kPeriod = 1000;
// Of a file, and of a directory whose files are joined.
constexpr std::uint32_t kEvents =
    IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;

// The kernel's name of a watched descriptor's file; else the path itself. Empty if the file was removed. A
// descriptor's name is known without a walk of a path, which could lead through this mount before it answers.
std::string name_of(const std::string& path) {
  if (!path.starts_with("/proc/")) return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
  std::error_code code;
  std::string name = std::filesystem::read_symlink(path, code).string();
  return name.ends_with(" (deleted)") ? std::string() : name;
}

void wake(const UniqueFd& eventfd) {
  const std::uint64_t one = 1;
  (void)!::write(eventfd.get(), &one, sizeof one);
}

}  // namespace

ChangeWatch::ChangeWatch(std::shared_ptr<tree::Tree> tree) : tree_(std::move(tree)) {
  events_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  more_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events_ || !stop_ || !more_) {
    log(LogLevel::Debug, "files cannot be watched; changes are noticed when they are used");
    return;
  }
  // If there is no file yet, the tree may later open one that has to be watched.
  all_watched_ = watch_all();
  tree_->when_more_to_watch([this] { wake(more_); });
  try {
    thread_ = start_thread("h5-changes", [this] { run(); });
  } catch (const std::exception& error) {  // no thread, or no memory for one
    tree_->when_more_to_watch(nullptr);
    log(LogLevel::Warning, "no thread to watch the file; changes are noticed when it is used: {}",
        error.what());
  }
}

ChangeWatch::~ChangeWatch() {
  if (!thread_.joinable()) return;
  tree_->when_more_to_watch(nullptr);
  wake(stop_);
  thread_.join();
}

// Adding a watch twice has no effect; watches of files that the tree no longer names are removed. Returns
// false if a file cannot be watched.
bool ChangeWatch::watch_all() {
  bool all = true;
  std::set<int> watched;
  std::map<std::string, std::string> names;
  for (const std::string& path : tree_->watchable()) {
    const int file = ::inotify_add_watch(events_.get(), path.c_str(), kEvents);
    all = all && file >= 0;
    if (file < 0) continue;
    watched.insert(file);
    names.emplace(path, names_.contains(path) ? names_[path] : name_of(path));
  }
  for (const int file : watched_)
    if (!watched.contains(file)) ::inotify_rm_watch(events_.get(), file);
  watched_ = std::move(watched);
  names_ = std::move(names);
  return all;
}

bool ChangeWatch::stopped_within(int milliseconds) const {
  pollfd waiting{stop_.get(), POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

bool ChangeWatch::name_missing() const {
  // A file may have been removed before it was watched.
  return std::ranges::any_of(names_, [](const auto& file) {
    const std::string name = name_of(file.first);
    return name.empty() || name != file.second;
  });
}

// Returns whether there were events.
bool ChangeWatch::drain() const {
  alignas(inotify_event) std::array<char, 4096> buffer;
  bool any = false;
  while (::read(events_.get(), buffer.data(), buffer.size()) > 0) any = true;
  return any;
}

void ChangeWatch::run() {
  // The tree is asked again after an event and after a name was missing: it looks at a name only at
  // intervals, so its last look may have been a moment before another file got the name.
  constexpr int kAskedAgain = 2;
  int again = kAskedAgain;
  bool more = false;  // there may be files that are not watched yet
  for (;;) {
    std::array<pollfd, 3> waiting{pollfd{events_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0},
                                  pollfd{more_.get(), POLLIN, 0}};
    const int ready = ::poll(waiting.data(), waiting.size(), again > 0 || tree_->reloads() ? kPeriod : -1);
    if (ready < 0 && errno != EINTR) return;
    if ((waiting[1].revents & POLLIN) != 0) return;
    if (ready < 0) continue;
    again = drain() ? kAskedAgain : std::max(again - 1, 0);
    std::uint64_t count = 0;
    (void)!::read(more_.get(), &count, sizeof count);
    more = more || count != 0;
    const bool done = run_guarded("checking the changed file", [&] {
      // The check below detects writes that were made before the watch.
      if (more) watch_all();
      more = false;
      tree_->file_changed();
      if (name_missing()) again = kAskedAgain;
    });
    if (!done) again = kAskedAgain;
    if (stopped_within(kPause)) return;
  }
}

}  // namespace h5mount::fuse
