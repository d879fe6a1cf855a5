// HeapTrim: gives free memory back to the system. Blocks of many sizes, made and dropped by many threads,
// leave gaps in the heap which malloc keeps: within minutes as much again as is in use. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace h5mount::cache {

class HeapTrim {
 public:
  // To be called when so many bytes were freed, with no lock held. Every limits::kTrimAfterFreedBytes of
  // them, and not more than once a second, the pages of all gaps are returned, which takes 7 ms where they
  // have 64 MiB.
  void note_freed(std::size_t bytes);

 private:
  std::atomic<std::size_t> freed_ = 0;
  std::atomic<std::int64_t> next_ = 0;  // nanoseconds of the steady clock
};

}  // namespace h5mount::cache
