// AheadWindow: how far ahead of a reader that goes forward a far source is asked for what it will read, in
// bytes or in other units. The window grows, as most readers want little, each time that half of it is read.
// A full one moves by whole requests, so that as many as may be are under way all the time. Threads: one at a
// time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "h5mount/base/bytes.h"

namespace h5mount {

struct AheadWindow {
  static constexpr std::uint64_t kRequestBytes = 2U << 20;
  // Sixteen requests under way, and some that have come before others that were asked for earlier.
  static constexpr std::uint64_t kMostBytes = 24 * kRequestBytes;

  std::uint64_t until = 0;   // the first unit that was not asked for
  std::uint64_t window = 0;  // 0: the reader is not known to go forward

  // The units to ask for now of a reader that reads `next` next; none if enough are asked for. `grown`: the
  // size of the next window, from `least` to `most`; `full`: it grows no more; `request`: units of a whole
  // request.
  ByteRange advance(std::uint64_t next, std::uint64_t grown, bool full, std::uint64_t least = 1,
                    std::uint64_t most = kMostBytes, std::uint64_t request = kRequestBytes) {
    const std::uint64_t left = until > next ? until - next : 0;
    if (full ? left + request > most : left > window / 2) return {};
    window = std::clamp(grown, least, most);
    const std::uint64_t first = std::max(until, next);
    until = next + window;
    if (full) until -= (until - first) % request;
    return {first, until};
  }
};

}  // namespace h5mount
