#include "directory_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>

#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"

namespace h5mount::tree {

namespace {

using WatchClock = std::chrono::steady_clock;

constexpr std::uint32_t kNameEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kFileEvents = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE;
constexpr std::uint32_t kWatchedEvents =
    kNameEvents | kFileEvents | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr int kTogether = 100;  // milliseconds in which events are gathered
constexpr std::chrono::milliseconds kAgain{1000};

}  // namespace

void DirectoryWatch::start() {
  events_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!events_ || !stop_) return;
  try {
    thread_ = start_thread("h5-forest", [this] { run(); });
    running_ = true;
  } catch (const std::exception& error) {  // no thread, or no memory for one
    log(LogLevel::Warning, "no thread to watch directories; changes are noticed when they are used: {}",
        error.what());
  }
}

void DirectoryWatch::stop() {
  running_ = false;
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void DirectoryWatch::check(const FolderPtr& folder) {
  folder->looked_at.store(now_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  if (!folder->watched && !folder->unreported && running_) add(folder);
}

std::size_t DirectoryWatch::count() const {
  const MutexLock lock(mutex_);
  return watches_.size();
}

void DirectoryWatch::add(const FolderPtr& folder) {
  const auto directory = folder->source->watchable();
  if (!directory) {
    if (directory.error().code() == ErrorCode::UnsupportedFeature) folder->unreported = true;
    return;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(directory->get());
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      const MutexLock lock(mutex_);  // the thread must not take an event of a watch that it does not know
      const int watch = ::inotify_add_watch(events_.get(), path.c_str(), kWatchedEvents);
      if (watch >= 0) {
        Folders& folders = watches_[watch];
        const auto same = [&](const auto& one) { return one.lock() == folder; };
        if (std::ranges::none_of(folders, same)) folders.push_back(folder);
        folder->watched = true;
        sweep();
        return;
      }
    }
    if (errno != ENOSPC || !give_some_up()) return;
  }
}

// Returns false if there is no watch to give up.
bool DirectoryWatch::give_some_up() {
  std::vector<std::pair<std::uint64_t, int>> oldest;
  std::vector<FolderPtr> given_up;
  bool says = false;
  {
    const MutexLock lock(mutex_);
    says = !std::exchange(said_, true);
    for (const auto& [watch, folders] : watches_) {
      std::uint64_t last = 0;
      for (const auto& one : folders)
        if (const FolderPtr folder = one.lock()) last = std::max(last, folder->looked_at.load());
      oldest.emplace_back(last, watch);
    }
    std::ranges::sort(oldest);
    oldest.resize((oldest.size() + 3) / 4);
    for (const auto& [last, watch] : oldest) {
      ::inotify_rm_watch(events_.get(), watch);
      for (const auto& one : watches_[watch])
        if (FolderPtr folder = one.lock()) {
          folder->watched = false;
          given_up.push_back(std::move(folder));
        }
      watches_.erase(watch);
    }
  }
  if (says)
    log(LogLevel::Warning,
        "the system gives no more watches for directories (fs.inotify.max_user_watches): those looked at "
        "longest ago are looked at again when they are used");
  for (const FolderPtr& folder : given_up) handler_.given_up(folder);
  return !oldest.empty();
}

void DirectoryWatch::sweep() {
  if (watches_.size() < sweep_at_) return;
  for (auto entry = watches_.begin(); entry != watches_.end();) {
    std::erase_if(entry->second, [](const auto& one) { return one.expired(); });
    if (entry->second.empty()) ::inotify_rm_watch(events_.get(), entry->first);
    entry = entry->second.empty() ? watches_.erase(entry) : std::next(entry);
  }
  sweep_at_ = std::max<std::size_t>(1024, 2 * watches_.size());
}

void DirectoryWatch::take(int watch, std::uint32_t what, const std::string& name, Changes& changes) {
  const MutexLock lock(mutex_);
  const auto note = [&](const Folders& folders) {
    for (const auto& one : folders)
      if (FolderPtr folder = one.lock()) {
        Change& change = changes[fmt::format("{}/{}", folder->id, name)];
        change.structure = change.structure || (what & (kNameEvents | IN_Q_OVERFLOW)) != 0;
        change.name = name;
        change.folder = std::move(folder);
      }
  };
  if ((what & IN_Q_OVERFLOW) != 0) {
    for (const auto& [number, folders] : watches_) note(folders);
    return;
  }
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  if ((what & IN_IGNORED) == 0) return note(found->second);
  for (const auto& one : found->second)
    if (const FolderPtr folder = one.lock()) folder->watched = false;
  watches_.erase(found);
}

void DirectoryWatch::take_events(Changes& changes) {
  alignas(inotify_event) std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t length = ::read(events_.get(), buffer.data(), buffer.size());
    if (length <= 0) return;
    for (const char* at = buffer.data(); at < buffer.data() + length;) {
      inotify_event event{};
      std::memcpy(&event, at, sizeof event);
      const char* const text = at + sizeof event;
      take(event.wd, event.mask, event.len > 0 ? std::string(text) : std::string(), changes);
      at = text + event.len;
    }
  }
}

void DirectoryWatch::tell(const Changes& changes) const {
  for (const auto& [key, change] : changes) handler_.changed(change.folder, change.name, change.structure);
}

// If something throws, events may be lost with it, as if the system's queue had overflown: all that is
// watched is looked at again.
void DirectoryWatch::run() {
  std::deque<std::pair<WatchClock::time_point, Changes>> again;  // told once, and when to be told again
  bool lost = false;
  for (;;) {
    std::array<pollfd, 2> waiting{pollfd{events_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    const int ready = ::poll(waiting.data(), waiting.size(), again.empty() && !lost ? -1 : kTogether);
    if (ready < 0 && errno != EINTR) return;
    if ((waiting[1].revents & POLLIN) != 0) return;
    lost = !run_guarded("looking at what changed", [&] {
      while (!again.empty() && WatchClock::now() >= again.front().first) {
        const Changes second = std::move(again.front().second);
        again.pop_front();
        tell(second);
      }
      Changes changes;
      if (lost) take(0, IN_Q_OVERFLOW, {}, changes);
      take_events(changes);
      if (changes.empty()) return;
      const auto due = WatchClock::now() + kAgain;
      tell(changes);
      again.emplace_back(due, std::move(changes));
    });
    pollfd stopping{stop_.get(), POLLIN, 0};
    const auto pause = lost ? static_cast<int>(kAgain.count()) : kTogether;
    if (::poll(&stopping, 1, pause) > 0) return;
  }
}

}  // namespace h5mount::tree
