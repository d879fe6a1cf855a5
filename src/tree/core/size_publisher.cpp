#include "size_publisher.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace h5mount::tree {

namespace {

constexpr std::chrono::milliseconds kLongestWait{200};
constexpr std::chrono::milliseconds kLongestAnswer{300};  // on its way to the kernel

}  // namespace

std::optional<std::uint64_t> SizePublisher::size() const {
  const MutexLock lock(mutex_);
  return state_ != 0 ? std::optional(bytes_) : std::nullopt;
}

std::uint64_t SizePublisher::believed_size() const {
  const MutexLock lock(mutex_);
  return std::chrono::steady_clock::now() < believed_until_ ? std::max(bytes_, larger_) : bytes_;
}

void SizePublisher::finish(std::uint64_t state, std::uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  if (bytes < bytes_) {
    larger_ = now < believed_until_ ? std::max(larger_, bytes_) : bytes_;
    believed_until_ = now + kLongestAnswer;
  }
  bytes_ = bytes;
  state_ = state;
  invalidating_ = false;
  finished_.notify_all();
}

SizePublisher::Size SizePublisher::publish(KernelPages* kernel, NodeId node, std::uint64_t state,
                                           std::uint64_t bytes, const StaleRanges& stale) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  MutexLock lock(mutex_);
  while (invalidating_ && state_ == 0)
    if (!finished_.wait_until(lock, end)) return {bytes, false};
  if (state < state_) return {bytes_, true};
  if (invalidating_) return {bytes_, false};
  if (state == state_ && bytes == bytes_) return {bytes_, true};
  invalidating_ = true;
  const std::uint64_t before = bytes_, since = state_;
  lock.unlock();
  try {
    std::vector<dataset::ByteRange> ranges = stale.since(since);
    // The kernel has filled the page that contains the old end up with zeros.
    if (bytes > before && before % kPage != 0) ranges.push_back({before / kPage * kPage, before});
    if (kernel == nullptr || ranges.empty())
      finish(state, bytes);
    else
      kernel->invalidate(node, ranges,
                         [self = shared_from_this(), state, bytes] { self->finish(state, bytes); });
  } catch (...) {  // the next caller begins again
    const MutexLock again(mutex_);
    invalidating_ = false;
    finished_.notify_all();
    throw;
  }
  lock.lock();
  while (state_ < state || (state_ == state && bytes_ != bytes))
    if (!finished_.wait_until(lock, end)) return {state_ != 0 ? bytes_ : bytes, false};
  return {bytes_, true};
}

}  // namespace h5mount::tree
