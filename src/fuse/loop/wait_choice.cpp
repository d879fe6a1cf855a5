#include "wait_choice.h"

#include <algorithm>

#include "h5mount/base/mechanism.h"

namespace h5mount::fuse {

Wait WaitChoice::received(pid_t client, Time at) {
  if (client == kNobody || !is_on(Mechanism::WaitChoice)) return way_;
  if (client != client_ || client == 0) {
    client_ = client;
    way_ = Wait::Sleep;
    requests_ = windows_ = 0;
    found_ = {};
  } else {
    intervals_[requests_] = at - last_;
    if (++requests_ == kWindow) decide();
  }
  last_ = at;
  return way_;
}

// The decision uses medians: a request that waits for a disk, or a client that processes what it got, says
// nothing about the way of waiting.
void WaitChoice::decide() {
  const auto found = [this](Wait way) -> Interval& { return found_[static_cast<std::size_t>(way)]; };
  const auto middle = intervals_.begin() + kWindow / 2;
  std::ranges::nth_element(intervals_, middle);
  requests_ = 0;
  if (++windows_ == kForget) {
    windows_ = 0;
    found_ = {};
  }
  found(way_) = *middle;
  way_ = found(Wait::Follow) < found(Wait::Sleep) ? Wait::Follow : Wait::Sleep;
  // Polling keeps a processor from others, so it has to gain a tenth.
  if (may_poll_ && found(Wait::Poll) < found(way_) - found(way_) / 10) way_ = Wait::Poll;
}

}  // namespace h5mount::fuse
