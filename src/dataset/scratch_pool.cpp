#include "scratch_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "h5mount/base/long_work.h"

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

std::unique_ptr<DecodeScratch> ScratchPool::take(const DecodeMemory& memory) {
  std::unique_lock lock(mutex_);
  if (memory.bytes > kSmall) {
    note_long_work();
    const std::uint64_t ticket = next_ticket_++;
    admitted_.wait(lock, [&] {
      return serving_ == ticket && (in_flight_ == 0 || in_flight_ + memory.bytes <= memory.together);
    });
    ++serving_;
    in_flight_ += memory.bytes;
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    admitted_.notify_all();
    return std::make_unique<DecodeScratch>();
  }
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

void ScratchPool::give(std::unique_ptr<DecodeScratch> scratch, std::uint64_t bytes) {
  if (bytes > kSmall) {
    scratch.reset();
    const std::lock_guard lock(mutex_);
    in_flight_ -= bytes;
    admitted_.notify_all();
    return;
  }
  scratch->trim(kKeepBytes);
  {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(scratch));
    ++free_;
  }
  freed_.notify_one();
}

std::uint64_t ScratchPool::most_bytes_in_flight() const {
  const std::lock_guard lock(mutex_);
  return most_in_flight_;
}

}  // namespace h5mount::dataset
