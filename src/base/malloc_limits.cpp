#include "h5mount/base/malloc_limits.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace h5mount {

void limit_malloc() {
#ifdef __GLIBC__
  // Arenas grow in steps of a MiB: with the usual 128 KiB, or a page at a time, a walk over 100,000 objects
  // made 1,300 system calls for 24 MiB.
  constexpr int kArenas = 2, kGivenBackAbove = 2 << 20, kStep = 1 << 20;
  (void)::mallopt(M_ARENA_MAX, kArenas);
  (void)::mallopt(M_MMAP_THRESHOLD, kGivenBackAbove);
  (void)::mallopt(M_TOP_PAD, kStep);
#endif
}

}  // namespace h5mount
