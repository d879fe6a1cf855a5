#include "h5mount/base/malloc_limits.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace h5mount {

void limit_malloc() {
#ifdef __GLIBC__
  constexpr int kArenas = 2, kGivenBackAbove = 4 << 20;
  (void)::mallopt(M_ARENA_MAX, kArenas);
  (void)::mallopt(M_MMAP_THRESHOLD, kGivenBackAbove);
#endif
}

}  // namespace h5mount
