#include "change_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <exception>

#include "h5mount/base/log.h"

namespace h5mount::fuse {
namespace {

constexpr int kPause = 500;  // milliseconds between two calls of the tree

}  // namespace

ChangeWatch::ChangeWatch(std::shared_ptr<Tree> tree) : tree_(std::move(tree)) {
  events_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  bool watched = false;
  if (events_ >= 0)
    for (const std::string& path : tree_->watchable())
      watched |= ::inotify_add_watch(events_, path.c_str(), IN_MODIFY | IN_ATTRIB) >= 0;
  if (watched && stop_ >= 0)
    thread_ = std::thread([this] { run(); });
  else
    log(LogLevel::Debug, "the file cannot be watched; changes are noticed when it is used");
}

ChangeWatch::~ChangeWatch() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(stop_, &one, sizeof one);
    thread_.join();
  }
  if (events_ >= 0) ::close(events_);
  if (stop_ >= 0) ::close(stop_);
}

bool ChangeWatch::stopped_within(int milliseconds) const {
  pollfd waiting{stop_, POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

void ChangeWatch::drain() const {
  alignas(inotify_event) std::array<char, 4096> buffer;
  while (::read(events_, buffer.data(), buffer.size()) > 0) {
  }
}

void ChangeWatch::run() {
  for (;;) {
    std::array<pollfd, 2> waiting{pollfd{events_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if ((waiting[1].revents & POLLIN) != 0) return;
    if ((waiting[0].revents & POLLIN) == 0) continue;
    drain();
    try {
      tree_->file_changed();
    } catch (const std::exception& exception) {
      log(LogLevel::Error, "looking at the changed file: internal error: {}", exception.what());
    }
    if (stopped_within(kPause)) return;
  }
}

}  // namespace h5mount::fuse
