#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "scratch_pool.h"

namespace h5mount::dataset {
namespace {

constexpr std::uint64_t kLarge = 2 * ScratchPool::kSmall;

TEST(ScratchPool, SmallDecodesDoNotWaitForLargeOnes) {
  ScratchPool pool(1);
  std::optional<ScratchPool::Lease> large(std::in_place, pool, DecodeMemory{kLarge, kLarge});
  std::thread waiting([&] { const ScratchPool::Lease second(pool, {kLarge, kLarge}); });
  {
    const ScratchPool::Lease small(pool, {ScratchPool::kSmall, kLarge});  // for ever where it waits for them
    EXPECT_EQ(pool.most_bytes_in_flight(), kLarge);
  }
  large.reset();
  waiting.join();
}

TEST(ScratchPool, LargeDecodesTogetherStayWithinTheirBytes) {
  ScratchPool pool(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) const ScratchPool::Lease lease(pool, {kLarge, 3 * kLarge});
    });
  threads.clear();
  EXPECT_LE(pool.most_bytes_in_flight(), 3 * kLarge);
  EXPECT_GE(pool.most_bytes_in_flight(), kLarge);
}

TEST(ScratchPool, OneThatNeedsMoreThanAllRunsAlone) {
  ScratchPool pool(1);
  std::vector<std::jthread> threads;
  std::atomic<int> running = 0, most = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const ScratchPool::Lease lease(pool, {10 * kLarge, kLarge});
        most = std::max(most.load(), ++running);
        std::this_thread::yield();
        --running;
      }
    });
  threads.clear();
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace h5mount::dataset
