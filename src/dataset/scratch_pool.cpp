#include "scratch_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace h5mount::dataset {
namespace {
constexpr std::size_t kKeepBytes = 2U << 20;  // a lease's buffers are cut to this after use
}  // namespace

void DecodeScratch::trim(std::size_t keep) {
  stored_.trim(keep);
  plain_.trim(keep);
  filters.trim(keep);
}

ScratchPool& ScratchPool::shared() {
  static auto* const pool = new ScratchPool(std::max(2U, std::thread::hardware_concurrency()) + 1);
  return *pool;
}

void ScratchPool::allow(unsigned leases) {
  {
    const std::lock_guard lock(mutex_);
    if (leases <= leases_) return;
    free_ += leases - std::exchange(leases_, leases);
  }
  freed_.notify_all();
}

std::unique_ptr<DecodeScratch> ScratchPool::take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return free_ > 0; });
  --free_;
  if (kept_.empty()) {
    lock.unlock();
    return std::make_unique<DecodeScratch>();
  }
  auto scratch = std::move(kept_.back());
  kept_.pop_back();
  return scratch;
}

void ScratchPool::give(std::unique_ptr<DecodeScratch> scratch) {
  scratch->trim(kKeepBytes);
  {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(scratch));
    ++free_;
  }
  freed_.notify_one();
}

}  // namespace h5mount::dataset
