#include "writable_wait.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "h5mount/base/thread.h"

namespace h5mount::serve {

Status WritableWait::start() {
  events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  end_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  epoll_event ending = {.events = EPOLLIN, .data = {.fd = end_.get()}};
  if (!events_ || !end_ || ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, end_.get(), &ending) != 0)
    return fail(io_error(errno, "cannot wait for connections"));
  thread_ = start_thread("h5-writable", [this] { run(); });
  return {};
}

WritableWait::~WritableWait() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!::write(end_.get(), &one, sizeof one);
  thread_.join();
}

bool WritableWait::wait(int descriptor, std::function<void()> then) {
  epoll_event wanted = {.events = EPOLLOUT | EPOLLONESHOT, .data = {.fd = descriptor}};
  const MutexLock lock(mutex_);
  waiting_.insert_or_assign(descriptor, std::move(then));
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &wanted) == 0) return true;
  waiting_.erase(descriptor);
  return false;
}

void WritableWait::run() {
  std::array<epoll_event, 64> ready;
  for (;;) {
    const int count = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const int descriptor = ready[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == end_.get()) return;
      std::function<void()> then;
      {
        const MutexLock lock(mutex_);
        ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
        const auto found = waiting_.find(descriptor);
        if (found == waiting_.end()) continue;
        then = std::move(found->second);
        waiting_.erase(found);
      }
      run_guarded("h5-writable", then);
    }
  }
}

}  // namespace h5mount::serve
