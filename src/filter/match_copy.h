// Private to the module: the two copies of LZ77 decoders. Precondition: the caller has checked the lengths.
// For speed they may write more than `length` bytes, but never beyond the given ends.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

inline void copy_literals(const std::byte* from, const std::byte* from_end, std::byte* to,
                          const std::byte* to_end, std::size_t length) {
  if (length <= 32 && from_end - from >= 32 && to_end - to >= 32) {
    std::memcpy(to, from, 32);
  } else {
    std::memcpy(to, from, length);
  }
}

// Copies `length` bytes from `distance` (at least 1) before `to`. Source and target may overlap, which
// repeats a pattern.
inline void copy_match(std::byte* to, const std::byte* to_end, std::size_t distance, std::size_t length) {
  const std::byte* from = to - distance;
  const bool room = static_cast<std::size_t>(to_end - to) >= length + 16;
  if (distance >= 16 && room) {
    for (std::size_t i = 0; i < length; i += 16) std::memcpy(to + i, from + i, 16);
  } else if (distance == 1) {
    std::memset(to, std::to_integer<int>(*from), length);
  } else if (distance >= 8 && room) {
    for (std::size_t i = 0; i < length; i += 8) std::memcpy(to + i, from + i, 8);
  } else if (distance >= length) {
    std::memcpy(to, from, length);
  } else {
    // The pattern is short, so the copied part is doubled until it has 16 bytes or is complete.
    std::size_t done = 0;
    std::size_t step = distance;
    while (done < length) {
      const std::size_t here = step < length - done ? step : length - done;
      std::memcpy(to + done, from, here);
      done += here;
      step += here;
    }
  }
}

}  // namespace h5mount::filter
