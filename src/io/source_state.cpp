#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "h5mount/base/checked.h"
#include "h5mount/io/byte_source.h"

namespace h5mount::io {

SourceState& ByteSource::state() {
  static SourceState unchanging;
  return unchanging;
}

std::optional<ByteSource::Place> ByteSource::place_of(std::uint64_t offset, std::uint64_t length) const {
  return range_within(offset, length, size()) ? std::optional(Place{this, offset}) : std::nullopt;
}

Result<SourceStamp> settled_stamp(SourceState& state) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds kMaxWait{10'000'000};
  H5_ASSIGN(const SourceStamp stamp, state.stamp());
  if (state.checks_reads()) return stamp;
  struct timespec tick = {};
  if (::clock_getres(CLOCK_REALTIME_COARSE, &tick) != 0) return stamp;
  const nanoseconds length = tick.tv_sec > 0 ? kMaxWait : std::min(nanoseconds(tick.tv_nsec), kMaxWait);
  const auto now = nanoseconds(std::chrono::system_clock::now().time_since_epoch());
  const nanoseconds age = now - nanoseconds(stamp.modified);
  if (age < nanoseconds(0) || age >= length) return stamp;
  std::this_thread::sleep_for(length - age);
  return state.stamp();
}

}  // namespace h5mount::io
