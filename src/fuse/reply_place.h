// The memory where the reply to the request that this thread is given may be written, so that it need not be
// copied there; empty if the request did not come by io_uring. Only the thread that has taken the request to
// answer it (request_watch.h) may write there.
#pragma once

#include <utility>

#include "h5mount/base/bytes.h"

namespace h5mount::fuse {

inline thread_local MutableByteSpan t_reply_place;

class ReplyPlace {
 public:
  explicit ReplyPlace(MutableByteSpan place) : before_(std::exchange(t_reply_place, place)) {}
  ~ReplyPlace() { t_reply_place = before_; }
  ReplyPlace(const ReplyPlace&) = delete;
  ReplyPlace& operator=(const ReplyPlace&) = delete;

 private:
  const MutableByteSpan before_;
};

}  // namespace h5mount::fuse
