// XattrAnswers: programs ask for an extended attribute twice, for its size and then for its value (and
// likewise for the list of names). The value that was made for the first request answers the second, which
// then costs only a round trip, and the value has the size that was told. Bounded. Threads: any.
#pragma once

#include <fuse_lowlevel.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/base/thread_annotations.h"

namespace h5mount::fuse {

class XattrAnswers {
 public:
  using Clock = std::chrono::steady_clock;

  // `name` is empty for the list of names. Replaces the answer kept for another program that asked meanwhile;
  // that program's value is then made twice.
  void keep(fuse_ino_t node, std::string_view name, std::string answer, Clock::time_point now);

  // The value that was kept; nullopt if there is none, if it was taken already, or if it was kept long ago,
  // as values may change.
  std::optional<std::string> take(fuse_ino_t node, std::string_view name, Clock::time_point now);

  static constexpr std::chrono::seconds kLifetime{1};
  static constexpr std::size_t kSlots = 64;  // programs that ask at the same time; each keeps up to 64 KiB

 private:
  struct Slot {
    fuse_ino_t node = 0;  // 0: empty
    std::string name, answer;
    Clock::time_point kept;
  };
  static std::size_t slot_of(fuse_ino_t node, std::string_view name);

  Mutex mutex_;
  std::array<Slot, kSlots> slots_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::fuse
