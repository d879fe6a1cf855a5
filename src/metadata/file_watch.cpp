#include "file_watch.h"

#include "h5mount/base/log.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/probe.h"

namespace h5mount {
namespace {

using std::chrono::nanoseconds;

// File times stand still for a tick of the kernel's clock: a write may follow within one and not show.
constexpr std::int64_t kTick = 20'000'000;
constexpr std::int64_t kLately = 3'000'000'000;

std::int64_t steady_now() {
  return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t wall_now() {
  return nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

FileWatch::FileWatch(std::shared_ptr<ByteSource> file, std::uint64_t superblock_place,
                     const MetadataOptions& options, bool swmr_writer)
    : file_(std::move(file)), place_(superblock_place), options_(options) {
  const bool follow = options.follow == Follow::Always || (options.follow == Follow::Auto && swmr_writer);
  state_ = follow ? State::Following : State::Quiet;
  if (const auto stamp = file_->stamp()) seen_ = *stamp;
  modified_ = seen_.modified;
  racy_ = follow;  // what was read while the file was opened may be older than the stamp
}

void FileWatch::look(bool at_once, const std::function<void()>& drop) {
  const std::int64_t now = steady_now();
  if (!at_once && now < next_look_.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (at_once)
    lock.lock();
  else if (!lock.try_lock())
    return;
  next_look_.store(now + nanoseconds(options_.look_interval).count(), std::memory_order_relaxed);
  if (const auto stamp = file_->stamp()) take(*stamp, drop);
}

void FileWatch::take(const SourceStamp& stamp, const std::function<void()>& drop) {
  if (stamp == seen_ && !racy_) return;
  const bool changed = stamp != seen_;
  const State before = state_.load();
  racy_ = before == State::Following && wall_now() - stamp.modified < kTick;
  seen_ = stamp;
  modified_.store(stamp.modified, std::memory_order_relaxed);
  const State after = changed ? state_after_change(stamp) : before;
  state_.store(after, std::memory_order_release);
  if (after != before)
    log(after == State::Following ? LogLevel::Info : LogLevel::Warning, "{}: {}", file_->name(),
        after == State::Following  ? "a SWMR writer has it now; it is followed"
        : after == State::Replaced ? "another file has its name now, or it was cut off; mount it again"
                                   : "it changed while mounted; mount it again");
  drop();
  next_generation();
}

FileWatch::State FileWatch::state_after_change(const SourceStamp& stamp) const {
  const State before = state_.load();
  if (stamp.replaced || before == State::Replaced) return State::Replaced;
  if (options_.follow == Follow::Never) return State::Stale;
  const auto superblock = load_superblock(*file_, place_);
  if (!superblock) {
    // Emptied and written anew, or just now being written: the next change tells.
    if (superblock.error().code() != ErrorCode::ChecksumMismatch) return State::Replaced;
    return before;
  }
  if (options_.follow == Follow::Always || superblock->open_for_swmr_writing()) return State::Following;
  if (superblock->open_for_writing()) return State::Stale;
  return before == State::Quiet ? State::Stale : before;  // a writer that was followed has ended
}

Status FileWatch::status() const {
  switch (state_.load(std::memory_order_acquire)) {
    case State::Quiet:
    case State::Following:
      return {};
    case State::Stale:
      return fail(Error(ErrorCode::Stale, file_->name() + " changed while it was mounted"));
    case State::Replaced:
      return fail(Error(ErrorCode::Stale, file_->name() + " was replaced while it was mounted"));
  }
  return {};
}

bool FileWatch::changed_lately() const {
  return wall_now() - modified_.load(std::memory_order_relaxed) < kLately;
}

}  // namespace h5mount
