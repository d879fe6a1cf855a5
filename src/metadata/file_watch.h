// FileWatch: whether an open file changed, is followed, or is stale.
//
//              unchanged             SWMR writer seen (or Follow::Always)
//   quiet  ----------------> quiet  ----------------------------------------> following
//     |  changed otherwise                                                   |  writer without SWMR, file
//     v                              SWMR writer seen                        v  replaced or emptied
//   stale  ---------------------------------------------------------------> (following) / stale
//
// Threads: any. The file is read without a lock; the first thread that saw a change applies it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FileWatch {
 public:
  // Whether a file whose superblock has these status flags is followed when it is opened.
  static bool follows(const MetadataOptions& options, bool swmr_writer) {
    return options.follow == Follow::Always || (options.follow == Follow::Auto && swmr_writer);
  }

  // `opened` is the stamp taken before the first byte of the file was read.
  FileWatch(std::shared_ptr<io::ByteSource> file, std::uint64_t superblock_place,
            const MetadataOptions& options, bool following, const io::SourceStamp& opened);

  // Checks whether the file changed, unless a check was made less than the interval ago and `at_once` is
  // false. After a change, `changed` is called under the lock, with whether the file is followed now: a
  // thread whose check finds no change sees all effects of earlier calls of `changed`.
  using Changed = std::function<void(bool following)>;
  // Fails where it cannot be known for a moment.
  Status check(bool at_once, const Changed& changed);
  Status status() const;
  bool following() const { return state_.load(std::memory_order_acquire) == State::Following; }
  bool changed_lately() const;

 private:
  enum class State : std::uint8_t { Quiet, Following, Stale, Replaced };
  using SuperblockBytes = std::array<std::byte, 96>;
  Result<SuperblockBytes> superblock_bytes() const;
  bool settled(const io::SourceStamp& stamp, const Changed& changed);
  Result<State> apply(const io::SourceStamp& stamp, const Changed& changed);
  Result<State> state_after(State before, const io::SourceStamp& stamp) const;
  std::string_view remedy() const;
  void log_transition(State before, State after) const;

  const std::shared_ptr<io::ByteSource> file_;
  const std::uint64_t place_;
  const MetadataOptions options_;
  std::atomic<State> state_;
  // In nanoseconds of the steady clock, as file times may be of another machine's clock, or of one that was
  // set back.
  std::atomic<std::int64_t> next_check_ = 0;
  std::atomic<std::int64_t> change_seen_;
  Mutex mutex_;
  io::SourceStamp seen_ H5_GUARDED_BY(mutex_);
  SuperblockBytes superblock_seen_ H5_GUARDED_BY(mutex_);
  // Whether bytes read since the last change may be older than a second change in the same tick.
  bool racy_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::metadata
