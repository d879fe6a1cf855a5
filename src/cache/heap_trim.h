// HeapTrim: gives free memory back to the system. Blocks of many sizes, made and dropped by many threads,
// leave gaps in the heap, which malloc keeps: within minutes they amount to as much memory as is in use.
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace h5mount::cache {

class HeapTrim {
 public:
  // To be called when so many bytes were freed, with no lock held. After every limits::kTrimAfterFreedBytes
  // of them, but not more than once a second, the pages of all gaps are returned to the system, which takes 7
  // ms for 64 MiB of gaps.
  void note_freed(std::size_t bytes);

 private:
  std::atomic<std::size_t> freed_ = 0;
  std::atomic<std::int64_t> next_ = 0;  // nanoseconds of the steady clock
};

}  // namespace h5mount::cache
