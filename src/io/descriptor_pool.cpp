#include "descriptor_pool.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "h5mount/io/descriptors.h"

namespace h5mount::io {
namespace {

constexpr std::size_t kFewest = 8;
constexpr std::size_t kMaxBudget = 16'384;  // beyond this, descriptors only cost kernel memory

// Half of the process's limit: the rest is for sockets, scratch files and files being opened.
std::size_t default_budget() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewest;
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / 2, kFewest, kMaxBudget));
}

struct CountedFd {
  explicit CountedFd(UniqueFd of) : fd(std::move(of)) { DescriptorPool::instance().count_open(); }
  ~CountedFd() {
    fd.reset();
    DescriptorPool::instance().count_closed();
  }
  CountedFd(const CountedFd&) = delete;
  CountedFd& operator=(const CountedFd&) = delete;
  UniqueFd fd;
};

thread_local bool has_place_here = false;

Error stale(const Error& why) {
  return Error(ErrorCode::Stale, "the file cannot be opened again by its name: " + why.text());
}

}  // namespace

DescriptorLease make_counted_lease(UniqueFd fd) {
  const auto counted = std::make_shared<const CountedFd>(std::move(fd));
  return {counted, &counted->fd};
}

DescriptorPlace::DescriptorPlace() : mine_(!std::exchange(has_place_here, true)) {
  if (mine_) DescriptorPool::instance().take_place();
}

DescriptorPlace::~DescriptorPlace() {
  if (!mine_) return;
  has_place_here = false;
  DescriptorPool::instance().leave_place();
}

PooledDescriptor::Identity PooledDescriptor::identity_of(int fd) {
  struct statx found = {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) != 0) return {};
  Identity identity{makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino, 0};
  if ((found.stx_mask & STATX_BTIME) != 0)
    identity.born = found.stx_btime.tv_sec * 1'000'000'000 + found.stx_btime.tv_nsec;
  return identity;
}

PooledDescriptor::PooledDescriptor(UniqueFd fd, ReopenFile reopen)
    : reopen_(std::move(reopen)),
      identity_(identity_of(fd.get())),
      open_(reopen_ ? make_counted_lease(std::move(fd)) : std::make_shared<const UniqueFd>(std::move(fd))) {
  if (reopen_) DescriptorPool::instance().opened(*this);
}

PooledDescriptor::~PooledDescriptor() {
  if (reopen_) DescriptorPool::instance().destroyed(*this);
}

Result<DescriptorLease> PooledDescriptor::use() const {
  if (!reopen_) return open_;
  used_.store(DescriptorPool::instance().now(), std::memory_order_relaxed);
  {
    const MutexLock lock(mutex_);
    if (open_) return open_;
  }
  const DescriptorPlace place;
  auto fd = reopen_();
  if (!fd && fd.error().code() == ErrorCode::Io) return fail(fd.error());
  if (!fd) return fail(stale(fd.error()));
  auto opened = make_counted_lease(UniqueFd(*fd));
  if (identity_of(*fd) != identity_) return fail(Error(ErrorCode::Stale, "another file has the name now"));
  {
    const MutexLock lock(mutex_);
    if (open_) return open_;
    open_ = opened;
  }
  DescriptorPool::instance().opened(*this);
  return opened;
}

DescriptorLease PooledDescriptor::take() const {
  const MutexLock lock(mutex_);
  return std::exchange(open_, nullptr);
}

DescriptorPool& DescriptorPool::instance() {
  static DescriptorPool pool;
  return pool;
}

DescriptorPool::DescriptorPool() : budget_(default_budget()) {}

void DescriptorPool::opened(const PooledDescriptor& descriptor) {
  descriptor.used_.store(now_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::vector<DescriptorLease> closed;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  // An eighth is closed at once: the search for the oldest is linear and must not run for every file that is
  // opened.
  if (open_.size() >= budget_) closed = close_down_to(budget_ - 1 - budget_ / 8);
  open_.insert(&descriptor);
}

void DescriptorPool::take_place() {
  constexpr std::chrono::milliseconds kLook{10};
  constexpr std::chrono::seconds kPatience{5};
  std::uint64_t gone = gone_;
  auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    std::vector<DescriptorLease> closed;
    MutexLock lock(mutex_);
    if (!has_place() && !open_.empty()) {
      const std::size_t more = std::min(open_.size(), 1 + budget_ / 8);
      closed = close_down_to(open_.size() - more);
      lock.unlock();
      closed.clear();
      lock.lock();
    }
    if (!has_place()) closed_.wait_for(lock, kLook);
    if (std::exchange(gone, gone_) != gone_) end = std::chrono::steady_clock::now() + kPatience;
    if (!has_place() && std::chrono::steady_clock::now() < end) continue;
    ++places_;
    return;
  }
}

void DescriptorPool::leave_place() {
  {
    const MutexLock lock(mutex_);
    --places_;
    ++gone_;
  }
  closed_.notify_all();
}

void DescriptorPool::destroyed(const PooledDescriptor& descriptor) {
  const MutexLock lock(mutex_);
  open_.erase(&descriptor);
}

void DescriptorPool::set_budget(std::size_t budget) {
  std::vector<DescriptorLease> closed;
  const MutexLock lock(mutex_);
  budget_ = std::max<std::size_t>(budget, 1);
  closed = close_down_to(budget_);
}

std::size_t DescriptorPool::open_count() const {
  const MutexLock lock(mutex_);
  return open_.size();
}

void DescriptorPool::close_idle() {
  std::vector<DescriptorLease> closed;
  const MutexLock lock(mutex_);
  closed = close_down_to(open_.size() / 2);
}

std::vector<DescriptorLease> DescriptorPool::close_down_to(std::size_t count) {
  std::vector<DescriptorLease> closed;
  if (open_.size() <= count) return closed;
  // The times of use are copied first: they change during comparisons, which a sorting algorithm does not
  // tolerate.
  std::vector<std::pair<std::uint64_t, const PooledDescriptor*>> oldest;
  oldest.reserve(open_.size());
  for (const PooledDescriptor* const one : open_) oldest.emplace_back(one->used_.load(), one);
  const auto end = oldest.begin() + static_cast<std::ptrdiff_t>(oldest.size() - count);
  std::ranges::nth_element(oldest, end - 1);
  for (auto at = oldest.begin(); at != end; ++at) {
    closed.push_back(at->second->take());
    open_.erase(at->second);
  }
  return closed;
}

void set_descriptor_budget(std::size_t budget) {
  DescriptorPool::instance().set_budget(budget);
}
std::size_t open_descriptor_count() {
  return DescriptorPool::instance().open_count();
}
void close_idle_descriptors() {
  DescriptorPool::instance().close_idle();
}

}  // namespace h5mount::io
