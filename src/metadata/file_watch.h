// FileWatch: what became of an open file: its generation, whether it is followed, whether it is stale. The
// states are explained in metadata/file_metadata.h.
//
//              unchanged             SWMR writer seen (or Follow::Always)
//   quiet  ----------------> quiet  ----------------------------------------> following
//     |  changed otherwise                                                   |  writer without SWMR, file
//     replaced v                        SWMR writer seen                              v
//   stale  ---------------------------------------------------------------> (following) / stale
//
// Threads: any. The file is read without a lock; the first to have seen a change applies it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount::metadata {

class FileWatch {
 public:
  // `opened`: the stamp from before the first byte of the file was read; without it the one of now is taken.
  FileWatch(std::shared_ptr<io::ByteSource> file, std::uint64_t superblock_place,
            const MetadataOptions& options, bool swmr_writer, std::optional<io::SourceStamp> opened = {});

  // Where the file has changed, `drop` is called before the generation goes up: whoever sees the new one
  // finds nothing old. `at_once`: whenever the last look was.
  void look(bool at_once, const std::function<void()>& drop);
  Status status() const;
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  void next_generation() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  bool following() const { return state_.load(std::memory_order_acquire) == State::Following; }
  bool changed_lately() const;
  std::chrono::milliseconds retry_for() const { return options_.retry_for; }

 private:
  enum class State : std::uint8_t { Quiet, Following, Stale, Replaced };
  using SuperblockBytes = std::array<std::byte, 96>;
  SuperblockBytes superblock_bytes() const;
  bool settled(const io::SourceStamp& stamp, const std::function<void()>& drop);
  State take(const io::SourceStamp& stamp, const std::function<void()>& drop);
  State state_after(State before, const io::SourceStamp& stamp) const;
  void say(State before, State after) const;

  const std::shared_ptr<io::ByteSource> file_;
  const std::uint64_t place_;
  const MetadataOptions options_;
  std::atomic<State> state_;
  std::atomic<std::uint64_t> generation_ = 1;
  // Of the steady clock, in nanoseconds: the times in the file may be of another clock, or of one that was
  // set back.
  std::atomic<std::int64_t> next_look_ = 0;
  std::atomic<std::int64_t> change_seen_;
  std::mutex mutex_;  // of what follows; never held while the file is read
  io::SourceStamp seen_;
  SuperblockBytes superblock_seen_;
  bool racy_ = false;  // what was read since the last change may be older than a second one in the same tick
};

}  // namespace h5mount::metadata
