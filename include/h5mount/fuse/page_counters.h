// Counters of the pages that are stored in the kernel's cache for readers at random places. Relaxed.
#pragma once

#include <atomic>
#include <cstdint>

namespace h5mount::fuse {

struct PageCounters {
  std::atomic<std::uint64_t> random_pages_stored{0};
  // Pages left out among them, and those of them that were requested later: as many as of the stored ones
  // were used.
  std::atomic<std::uint64_t> probes{0}, probes_used{0};
};
PageCounters& page_counters();

}  // namespace h5mount::fuse
