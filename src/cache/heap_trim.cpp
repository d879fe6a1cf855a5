#include "heap_trim.h"

#include <chrono>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "h5mount/base/limits.h"
#include "h5mount/base/mechanism.h"

namespace h5mount::cache {
namespace {

constexpr std::int64_t kBetweenTrims = 1'000'000'000;  // nanoseconds

}  // namespace

void HeapTrim::note_freed(std::size_t bytes) {
  if (!is_on(Mechanism::HeapTrim)) return;
  if (freed_.fetch_add(bytes, std::memory_order_relaxed) + bytes < limits::kTrimAfterFreedBytes) return;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  std::int64_t next = next_.load(std::memory_order_relaxed);
  if (now < next || !next_.compare_exchange_strong(next, now + kBetweenTrims, std::memory_order_relaxed))
    return;
  freed_.store(0, std::memory_order_relaxed);
#ifdef __GLIBC__
  (void)::malloc_trim(0);
#endif
}

}  // namespace h5mount::cache
