// Counters: what a mount, or a server, has done so far, for /.h5/status, tests and benchmarks. One object is
// handed down to everything that works for a mount (dataset::ReadEnvironment), so that two mounts in one
// process are counted separately. Threads: any; relaxed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "h5mount/base/error.h"

namespace h5mount {

struct Counters {
  static constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::Internal) + 1;
  using Count = std::atomic<std::uint64_t>;

  Count requests{0};
  Count missing_sources{0};                   // of virtual datasets, at first use
  std::array<Count, kErrorCodes> failures{};  // of requests, by ErrorCode

  Count chunks_decoded{0};
  Count stored_bytes_read{0};
  Count row_blocks_made{0};
  Count units_ahead{0};  // chunks, stripes or row blocks made by read-ahead

  Count pages_handed_on{0};  // put into the kernel's page cache ahead of requests

  static void add(Count& count, std::uint64_t more = 1) { count.fetch_add(more, std::memory_order_relaxed); }
};

}  // namespace h5mount
