// The memory that answers are made in. It counts with the blocks of the cache, as all that files drive does
// (BlockCache::Charge), so that no number of clients takes more. Threads: any.
#pragma once

#include "h5mount/dataset/open_dataset.h"
#include "request_work.h"

namespace h5mount::serve {

using MemoryCharge = cache::BlockCache::Charge;

// Charges `bytes` to `cache`; if that is null, nothing is charged. While others hold what is needed it waits,
// so a request should ask for all that it needs at once. Fails with OutOfMemory when that has taken long.
Result<MemoryCharge> take_memory(const std::shared_ptr<cache::BlockCache>& cache, std::size_t bytes,
                                 RequestWork& work);

}  // namespace h5mount::serve
