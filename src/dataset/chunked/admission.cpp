#include "admission.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "h5mount/base/long_work.h"
#include "h5mount/base/momentary.h"

namespace h5mount::dataset {
namespace {
constexpr std::size_t kKeepBytes = 2U << 20;  // a lease's buffers are cut to this size after use
// As long as nobody has waited longer than this, a running thread takes a free place before those that wait.
// Giving every place to a thread that sleeps costs a switch of threads a decode: 32 readers of chunks that
// take a millisecond each lost a fifth of their throughput.
constexpr std::chrono::milliseconds kPatience{50};

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

Admission& Admission::decodes() {
  static auto* const decodes = new Admission(std::max(2U, std::thread::hardware_concurrency()) + 1);
  return *decodes;
}

// A far source gives up a request that is not answered. Its readers' places are released before that, so
// that one source which hangs does not hold up others.
Admission& Admission::fetches() {
  constexpr unsigned kRequests = 16;
  static auto* const fetches = new Admission(kRequests, {.small = kSmallFetch,
                                                         .hangs_after = std::chrono::seconds(2),
                                                         .least_rate = 4U << 20,
                                                         .most_released = kFetchBytes});
  return *fetches;
}

void Admission::allow(unsigned leases) {
  const MutexLock lock(mutex_);
  if (leases <= leases_) return;
  idle_.reserve(leases);
  free_ += leases - std::exchange(leases_, leases);
  small_.wake_next();
}

bool Admission::fits(const DecodeMemory& memory) const {
  if (!is_large(memory)) return free_ > 0;
  return in_flight_ == 0 || in_flight_ + memory.bytes <= memory.together;
}

void Admission::wait_for_place(const DecodeMemory& memory, Line line, MutexLock& lock) {
  const bool large = is_large(memory);
  FairTurns& turns = large ? large_ : small_;
  if (large) note_long_work();
  if (!fits(memory) || turns.longest_wait() > kPatience) {
    watch_for_hanging();
    FairTurns::Turn turn{memory.owner};
    if (line == Line::First)
      turns.join_first(turn);
    else
      turns.join(turn);
    while (!turns.is_next(turn) || !fits(memory)) turn.next.wait(lock);
    turns.leave();
  }
  if (large)
    most_in_flight_ = std::max(most_in_flight_, in_flight_ += memory.bytes);
  else
    --free_;
  turns.wake_next();  // there may be a place for the next one too
}

void Admission::release_place(const DecodeMemory& memory) {
  if (is_large(memory))
    in_flight_ -= memory.bytes;
  else
    ++free_;
  (is_large(memory) ? large_ : small_).wake_next();
}

std::unique_ptr<DecodeScratch> Admission::acquire(const DecodeMemory& memory) {
  MutexLock lock(mutex_);
  // Nothing after the wait may fail, or a place would be lost.
  leased_.reserve(leased_.size() + small_.waiting() + large_.waiting() + 1);
  std::unique_ptr<DecodeScratch> scratch;
  if (is_large(memory) || idle_.empty()) {
    scratch = std::make_unique<DecodeScratch>();
  } else {
    scratch = std::move(idle_.back());
    idle_.pop_back();
  }
  wait_for_place(memory, Line::Owners, lock);
  scratch->memory_ = memory;
  scratch->pool_ = this;
  scratch->place_released_ = false;
  leased_.push_back(scratch.get());
  return scratch;
}

void Admission::release(std::unique_ptr<DecodeScratch> scratch) {
  const bool large = is_large(scratch->memory_);
  if (!large) scratch->trim(kKeepBytes);
  const MutexLock lock(mutex_);
  std::erase(leased_, scratch.get());
  if (scratch->place_released_) {
    if (large) released_ -= scratch->memory_.bytes;
    return;
  }
  release_place(scratch->memory_);
  if (!large && idle_.size() < leases_) idle_.push_back(std::move(scratch));
}

// Makes the watchdog look at the running decodes while others wait.
void Admission::watch_for_hanging() {
  if (check_) return check_->wake();
  try {
    check_.emplace(bounds_.hangs_after, [this](Watchdog::Clock::time_point) {
      const MutexLock lock(mutex_);
      if (small_.waiting() + large_.waiting() == 0) return false;
      release_places_of_hanging();
      return true;
    });
  } catch (const std::exception&) {  // no thread, or no memory for one: the next one that waits tries again
  }
}

bool Admission::hangs(const DecodeScratch& scratch, std::int64_t now) const {
  const std::int64_t since = scratch.reading_since_.load();
  const std::chrono::duration<double> takes(static_cast<double>(scratch.memory_.bytes) /
                                            static_cast<double>(bounds_.least_rate));
  const std::chrono::nanoseconds may_take =
      bounds_.hangs_after + std::chrono::duration_cast<std::chrono::nanoseconds>(takes);
  return since != 0 && since <= now - may_take.count();
}

void Admission::release_places_of_hanging() {
  const std::int64_t now = nanoseconds_now();
  for (DecodeScratch* const scratch : leased_) {
    const std::uint64_t bytes = is_large(scratch->memory_) ? scratch->memory_.bytes : 0;
    if (scratch->place_released_ || bytes > bounds_.most_released - released_ || !hangs(*scratch, now))
      continue;
    scratch->place_released_ = true;
    released_ += bytes;
    release_place(scratch->memory_);
  }
}

void Admission::acquire_place_again(DecodeScratch& scratch) {
  MutexLock lock(mutex_);
  wait_for_place(scratch.memory_, Line::First, lock);
  scratch.place_released_ = false;
  if (is_large(scratch.memory_)) released_ -= scratch.memory_.bytes;
}

Status DecodeScratch::read(const io::ByteSource& source, std::uint64_t address, MutableByteSpan out) {
  Status done;
  {
    struct Reading {
      std::atomic<std::int64_t>& since;
      ~Reading() { since.store(0); }
    };
    reading_since_.store(nanoseconds_now());
    const Reading reading{reading_since_};
    done = noted_read(source.read_at(address, out));
  }
  // If the place is released just after this check, one decode more than allowed runs.
  if (place_released_.load()) pool_->acquire_place_again(*this);
  return done;
}

std::uint64_t Admission::most_bytes_in_flight() const {
  const MutexLock lock(mutex_);
  return most_in_flight_;
}

std::size_t Admission::waiting() const {
  const MutexLock lock(mutex_);
  return small_.waiting() + large_.waiting();
}

}  // namespace h5mount::dataset
