// One object for equal members of different files. Threads: any.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/join/card.h"

namespace h5mount::join {

class MemberTable {
 public:
  // The member that has these bytes (card_codec.h), if some card has it; else null.
  MemberCardPtr find(ByteSpan bytes);
  // That one, or this one, which is in the table from now on.
  MemberCardPtr keep(MemberCard member, ByteSpan bytes);

 private:
  Mutex mutex_;
  // By a hash of the bytes. Those whose cards are gone are dropped when there are twice as many as before.
  std::unordered_map<std::uint64_t, std::weak_ptr<const MemberCard>> members_ H5_GUARDED_BY(mutex_);
  std::size_t sweep_at_ H5_GUARDED_BY(mutex_) = 1024;
};

}  // namespace h5mount::join
