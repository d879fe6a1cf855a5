#include "answer_memory.h"

#include <thread>

namespace h5mount::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
// Shorter than most clients wait for an answer; the answer then states when to come again.
constexpr milliseconds kPatience{40'000};
}  // namespace

Result<MemoryCharge> take_memory(const std::shared_ptr<cache::BlockCache>& cache, std::size_t bytes,
                                 RequestWork& work) {
  if (!cache) return MemoryCharge();
  const auto end = RequestWork::Clock::now() + kPatience;
  for (;;) {
    auto charge = cache->charge(bytes);
    if (charge || charge.error().code() != ErrorCode::OutOfMemory) return charge;
    note_long_work();
    H5_TRY(work.budget().check());
    if (RequestWork::Clock::now() >= end)
      return fail({ErrorCode::OutOfMemory, "other answers hold the memory that cache_size allows for them"});
    std::this_thread::sleep_for(kTick);
  }
}

}  // namespace h5mount::serve
