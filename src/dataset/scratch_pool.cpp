#include "scratch_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "h5mount/base/long_work.h"

namespace h5mount::dataset {
namespace {
constexpr std::size_t kKeepBytes = 2U << 20;  // a lease's buffers are cut to this after use

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
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
    const MutexLock lock(mutex_);
    if (leases <= leases_) return;
    free_ += leases - std::exchange(leases_, leases);
  }
  freed_.notify_all();
}

std::unique_ptr<DecodeScratch> ScratchPool::take(const DecodeMemory& memory) {
  MutexLock lock(mutex_);
  leased_.reserve(leased_.size() + 1);
  std::unique_ptr<DecodeScratch> scratch;
  if (memory.bytes > kSmall) {
    scratch = std::make_unique<DecodeScratch>();
    scratch->bytes_ = memory.bytes;
    scratch->together_ = memory.together;
    note_long_work();
    const std::uint64_t ticket = next_ticket_++;
    while (serving_ != ticket || !large_fits(*scratch))
      if (!admitted_.wait_for(lock, hangs_after_)) give_places_of_hanging();
    ++serving_;
    in_flight_ += memory.bytes;
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    admitted_.notify_all();
  } else {
    while (free_ == 0)
      if (!freed_.wait_for(lock, hangs_after_)) give_places_of_hanging();
    if (kept_.empty()) {
      scratch = std::make_unique<DecodeScratch>();
    } else {
      scratch = std::move(kept_.back());
      kept_.pop_back();
    }
    --free_;
    scratch->bytes_ = memory.bytes;
  }
  scratch->pool_ = this;
  scratch->place_given_ = false;
  leased_.push_back(scratch.get());
  return scratch;
}

void ScratchPool::give(std::unique_ptr<DecodeScratch> scratch) {
  const bool large = scratch->bytes_ > kSmall;
  if (!large) scratch->trim(kKeepBytes);
  const MutexLock lock(mutex_);
  std::erase(leased_, scratch.get());
  const bool has_place = !scratch->place_given_;
  if (large) {
    if (has_place) in_flight_ -= scratch->bytes_;
    admitted_.notify_all();
    return;
  }
  if (!has_place) return;
  kept_.push_back(std::move(scratch));
  ++free_;
  freed_.notify_one();
}

bool ScratchPool::large_fits(const DecodeScratch& scratch) const {
  return in_flight_ == 0 || in_flight_ + scratch.bytes_ <= scratch.together_;
}

void ScratchPool::give_places_of_hanging() {
  const std::int64_t began_before =
      nanoseconds_now() - std::chrono::duration_cast<std::chrono::nanoseconds>(hangs_after_).count();
  for (DecodeScratch* const scratch : leased_) {
    const std::int64_t since = scratch->reading_since_.load();
    if (since == 0 || since > began_before || scratch->place_given_.exchange(true)) continue;
    if (scratch->bytes_ > kSmall)
      in_flight_ -= scratch->bytes_;
    else
      ++free_;
  }
  freed_.notify_all();
  admitted_.notify_all();
}

void ScratchPool::take_place_again(DecodeScratch& scratch) {
  MutexLock lock(mutex_);
  if (scratch.bytes_ > kSmall) {
    while (!large_fits(scratch))
      if (!admitted_.wait_for(lock, hangs_after_)) give_places_of_hanging();
    in_flight_ += scratch.bytes_;
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
  } else {
    while (free_ == 0)
      if (!freed_.wait_for(lock, hangs_after_)) give_places_of_hanging();
    --free_;
  }
  scratch.place_given_ = false;
}

Status DecodeScratch::read(const io::ByteSource& source, std::uint64_t address, MutableByteSpan out) {
  reading_since_.store(nanoseconds_now());
  Status done = source.read_at(address, out);
  reading_since_.store(0);
  // Where the place is given away at this moment, one decode more than admitted runs.
  if (place_given_.load()) pool_->take_place_again(*this);
  return done;
}

std::uint64_t ScratchPool::most_bytes_in_flight() const {
  const MutexLock lock(mutex_);
  return most_in_flight_;
}

}  // namespace h5mount::dataset
