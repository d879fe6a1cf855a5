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
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FileWatch {
 public:
  // Whether a file whose superblock has these status flags is followed from the beginning.
  static bool follows(const MetadataOptions& options, bool swmr_writer) {
    return options.follow == Follow::Always || (options.follow == Follow::Auto && swmr_writer);
  }

  // `opened`: the stamp from before the first byte of the file was read.
  FileWatch(std::shared_ptr<io::ByteSource> file, std::uint64_t superblock_place,
            const MetadataOptions& options, bool following, const io::SourceStamp& opened);

  // Checks whether the file changed, unless that was done less than the interval ago and not `at_once`.
  // Where it did, `changed` is called with whether it is followed now, under the lock: a thread that finds no
  // change afterwards finds what `changed` did.
  using Changed = std::function<void(bool following)>;
  void check(bool at_once, const Changed& changed);
  Status status() const;
  bool following() const { return state_.load(std::memory_order_acquire) == State::Following; }
  bool changed_lately() const;

 private:
  enum class State : std::uint8_t { Quiet, Following, Stale, Replaced };
  using SuperblockBytes = std::array<std::byte, 96>;
  SuperblockBytes superblock_bytes() const;
  bool settled(const io::SourceStamp& stamp, const Changed& changed);
  State apply(const io::SourceStamp& stamp, const Changed& changed);
  State state_after(State before, const io::SourceStamp& stamp) const;
  void log_transition(State before, State after) const;

  const std::shared_ptr<io::ByteSource> file_;
  const std::uint64_t place_;
  const MetadataOptions options_;
  std::atomic<State> state_;
  // Nanoseconds of the steady clock: the times in the file may be of another clock, or of one that was set
  // back.
  std::atomic<std::int64_t> next_check_ = 0;
  std::atomic<std::int64_t> change_seen_;
  std::mutex mutex_;  // guards what follows; never held while the file is read
  io::SourceStamp seen_;
  SuperblockBytes superblock_seen_;
  bool racy_ = false;  // what was read since the last change may be older than a second one in the same tick
};

}  // namespace h5mount::metadata
