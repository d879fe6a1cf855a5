#include "file_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "h5mount/base/log.h"
#include "h5mount/format/superblock.h"
#include "h5mount/metadata/probe.h"

namespace h5mount::metadata {
namespace {

using std::chrono::nanoseconds;

// In nanoseconds. File times advance by ticks of the kernel's clock: a second write within a tick does not
// change them.
constexpr std::int64_t kTick = 20'000'000;
constexpr std::int64_t kLately = 3'000'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min() / 2;

std::int64_t steady_now() {
  return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t wall_now() {
  return nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Whether a write after the change that was detected at `seen` may have left the same mtime.
bool within_tick(std::int64_t seen, const io::SourceStamp& stamp) {
  return steady_now() - seen < kTick && wall_now() - stamp.modified < kTick;
}

// A file whose mtime is close to the present counts as changed when it was opened. Its times are not used
// otherwise: a time in the future would count as a recent change until then.
std::int64_t first_change(const io::SourceStamp& stamp) {
  return std::llabs(wall_now() - stamp.modified) < kLately ? steady_now() : kNever;
}

}  // namespace

FileWatch::FileWatch(std::shared_ptr<io::ByteSource> file, std::uint64_t superblock_place,
                     const MetadataOptions& options, bool following, const io::SourceStamp& opened)
    : file_(std::move(file)),
      place_(superblock_place),
      options_(options),
      state_(following ? State::Following : State::Quiet),
      change_seen_(first_change(opened)),
      seen_(opened),
      superblock_seen_(superblock_bytes().value_or(SuperblockBytes{})),
      racy_(following) {}  // bytes read while the file was opened may be older than the stamp

Status FileWatch::check(bool at_once, const Changed& changed) {
  const std::int64_t now = steady_now();
  std::int64_t next = next_check_.load(std::memory_order_relaxed);
  if (!at_once && now < next) [[likely]]
    return {};
  const std::int64_t after = now + nanoseconds(options_.revalidate_interval).count();
  if (!next_check_.compare_exchange_strong(next, after, std::memory_order_relaxed) && !at_once) return {};
  auto stamp = file_->state().stamp();
  if (!stamp) return {};
  if (options_.keep_replaced) stamp->replaced = false;
  if (settled(*stamp, changed)) return {};
  const State before = state_.load(std::memory_order_acquire);
  H5_ASSIGN(const State applied, apply(*stamp, changed));
  log_transition(before, applied);
  return {};
}

// Returns true if there is nothing more to do. Bytes read within the clock tick of a change may be older than
// a second change in that tick, so `changed` is called once more when the tick is over.
bool FileWatch::settled(const io::SourceStamp& stamp, const Changed& changed) {
  const MutexLock lock(mutex_);
  if (stamp != seen_) return false;
  if (!racy_) return true;
  const bool racy = following() && within_tick(change_seen_.load(std::memory_order_relaxed), stamp);
  changed(following());
  racy_ = racy;
  return true;
}

// If the change cannot be read for a moment, the next check reads again, and until then it is an error.
Result<FileWatch::State> FileWatch::apply(const io::SourceStamp& stamp, const Changed& changed) {
  const State before = state_.load(std::memory_order_acquire);
  H5_ASSIGN(const SuperblockBytes superblock, superblock_bytes());
  H5_ASSIGN(const State after, state_after(before, stamp));
  const MutexLock lock(mutex_);
  if (stamp == seen_ || state_.load(std::memory_order_relaxed) != before)
    return before;  // another thread has applied the change
  const bool same = before != State::Following && !stamp.replaced && io::same_bytes(seen_, stamp) &&
                    superblock == superblock_seen_;
  seen_ = stamp;
  if (same) return before;
  superblock_seen_ = superblock;
  change_seen_.store(steady_now(), std::memory_order_relaxed);
  racy_ = after == State::Following;
  state_.store(after, std::memory_order_release);
  changed(after == State::Following);
  return after;
}

// A file that ends before has other bytes than any superblock.
Result<FileWatch::SuperblockBytes> FileWatch::superblock_bytes() const {
  SuperblockBytes bytes{};
  const std::uint64_t size = file_->size();
  const auto length =
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), size > place_ ? size - place_ : 0));
  const Status read = file_->read_at(place_, MutableByteSpan(bytes).first(length));
  if (!read && is_momentary(read.error())) return fail(read.error());
  if (!read) bytes.fill(std::byte{0xFF});
  return bytes;
}

Result<FileWatch::State> FileWatch::state_after(State before, const io::SourceStamp& stamp) const {
  if (stamp.replaced || before == State::Replaced) return State::Replaced;
  if (options_.follow == Follow::Never) return State::Stale;
  const auto superblock = load_superblock(*file_, place_);
  if (!superblock && is_momentary(superblock.error())) return fail(superblock.error());
  if (!superblock) {
    // A wrong checksum means that the superblock is being written: the next change decides. Until then a file
    // that had no SWMR writer is stale.
    if (superblock.error().code() != ErrorCode::ChecksumMismatch) return State::Replaced;
    return before == State::Quiet ? State::Stale : before;
  }
  if (options_.follow == Follow::Always || superblock->open_for_swmr_writing()) return State::Following;
  if (superblock->open_for_writing()) return State::Stale;
  return before == State::Quiet ? State::Stale : before;  // a followed file: its writer has closed it
}

// The advice to the user, if the mount does not take up the new file itself.
std::string_view FileWatch::remedy() const {
  return options_.keep_replaced ? "" : "; mount it again, or with -o reload, which takes up the new file";
}

void FileWatch::log_transition(State before, State after) const {
  if (after == before) return;
  if (after == State::Following)
    log(LogLevel::Info, "{}: a SWMR writer has opened it; changes are followed", file_->name());
  else
    log(LogLevel::Warning, "{}: it {}{}", file_->name(),
        after == State::Replaced ? "was replaced or truncated" : "changed while it was mounted", remedy());
}

Status FileWatch::status() const {
  switch (state_.load(std::memory_order_acquire)) {
    case State::Quiet:
    case State::Following:
      return {};
    case State::Stale:
      return fail(
          Error(ErrorCode::Stale, fmt::format("{} changed while it was mounted{}", file_->name(), remedy())));
    case State::Replaced:
      return fail(Error(ErrorCode::Stale,
                        fmt::format("{} was replaced while it was mounted{}", file_->name(), remedy())));
  }
  return {};
}

bool FileWatch::changed_lately() const {
  return steady_now() - change_seen_.load(std::memory_order_relaxed) < kLately;
}

}  // namespace h5mount::metadata
