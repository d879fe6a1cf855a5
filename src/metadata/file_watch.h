// FileWatch: what became of an open file: its generation, whether it is followed, whether it is stale. See
// the door.
//
//              unchanged             SWMR writer seen (or Follow::Always)
//   quiet  ----------------> quiet  ----------------------------------------> following
//     |  changed otherwise                                                   |  writer without SWMR, file
//     replaced v                        SWMR writer seen                              v
//   stale  ---------------------------------------------------------------> (following) / stale
//
// Threads: any. One looks, the others go on with what the last look said.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "h5mount/metadata/file_metadata.h"

namespace h5mount {

class FileWatch {
 public:
  FileWatch(std::shared_ptr<ByteSource> file, std::uint64_t superblock_place, const MetadataOptions& options,
            bool swmr_writer);

  // Where the file has changed, `drop` is called before the generation goes up: whoever sees the new one
  // finds nothing old.
  void look(bool at_once, const std::function<void()>& drop);
  Status status() const;
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  void next_generation() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  bool following() const { return state_.load(std::memory_order_acquire) == State::Following; }
  bool changed_lately() const;
  std::chrono::milliseconds retry_for() const { return options_.retry_for; }

 private:
  enum class State : std::uint8_t { Quiet, Following, Stale, Replaced };
  void take(const SourceStamp& stamp, const std::function<void()>& drop);
  State state_after_change(const SourceStamp& stamp) const;

  const std::shared_ptr<ByteSource> file_;
  const std::uint64_t place_;
  const MetadataOptions options_;
  std::atomic<State> state_;
  std::atomic<std::uint64_t> generation_ = 1;
  std::atomic<std::int64_t> next_look_ = 0;  // steady clock
  std::atomic<std::int64_t> modified_ = 0;
  std::mutex mutex_;  // of those who look
  SourceStamp seen_;
  bool racy_ = false;
};

}  // namespace h5mount
