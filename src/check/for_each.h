// Work on all threads of a check, a batch at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "h5mount/cache/worker_pool.h"
#include "tally.h"

namespace h5mount::check {

inline constexpr std::size_t kBatch = 256;  // what is handed to the workers at a time

// Calls work(0) … work(count - 1) on the workers (null: on this thread) until the report wants no more, which
// is checked before each call, as one chunk can take a second.
template <class Work>
void for_each(cache::WorkerPool* workers, std::uint64_t count, Tally& tally, const Work& work) {
  for (std::uint64_t first = 0; first < count && tally.go_on(); first += kBatch) {
    const auto batch = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, count - first));
    const auto job = [&](std::size_t i) {
      if (tally.go_on()) work(first + i);
    };
    if (workers != nullptr)
      workers->for_each_index(batch, job);
    else
      for (std::size_t i = 0; i < batch; ++i) job(i);
  }
}

}  // namespace h5mount::check
