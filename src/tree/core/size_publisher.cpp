#include "size_publisher.h"

#include <unistd.h>

#include <chrono>

namespace h5mount::tree {

namespace {

constexpr std::chrono::milliseconds kLongestWait{200};

}  // namespace

// The steps of one version. If one of them throws, the next caller starts them again.
class SizePublisher::Step {
 public:
  explicit Step(SizePublisher& owner) : owner_(&owner) {}
  ~Step() {
    if (owner_ == nullptr) return;
    const MutexLock lock(owner_->mutex_);
    owner_->invalidating_ = false;
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void handed_over() { owner_ = nullptr; }

 private:
  SizePublisher* owner_;
};

std::uint64_t SizePublisher::size() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

void SizePublisher::finish(std::uint64_t version, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  bytes_ = bytes;
  version_ = version;
  invalidating_ = false;
  finished_.notify_all();
}

SizePublisher::Size SizePublisher::publish(KernelPages* kernel, NodeId node, std::uint64_t version,
                                           std::uint64_t bytes, const std::function<Ranges()>& stale) {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  MutexLock lock(mutex_);
  if (version < version_) return {bytes_, true};
  if (invalidating_) return {bytes_, false};
  if (version == version_ && bytes == bytes_) return {bytes_, true};
  invalidating_ = true;
  const bool first = version > version_;
  const std::uint64_t before = bytes_;
  lock.unlock();
  Step step(*this);
  Ranges ranges = first ? stale() : Ranges();
  // The kernel has filled the page with the old end up with zeros.
  if (bytes > before && before % kPage != 0) ranges.push_back({before / kPage * kPage, before});
  if (kernel == nullptr || ranges.empty())
    finish(version, bytes);
  else
    kernel->invalidate(node, ranges,
                       [self = shared_from_this(), version, bytes] { self->finish(version, bytes); });
  step.handed_over();
  lock.lock();
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (version_ < version || (version_ == version && bytes_ != bytes))
    if (!finished_.wait_until(lock, end)) return {bytes_, false};
  return {bytes_, true};
}

}  // namespace h5mount::tree
