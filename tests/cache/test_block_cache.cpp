#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "h5mount/base/limits.h"
#include "h5mount/base/momentary.h"
#include "h5mount/cache/block_cache.h"

namespace h5mount::cache {
namespace {

Status fill_with(Block& block, int value) {
  for (std::byte& b : block.bytes()) b = static_cast<std::byte>(value);
  return {};
}

TEST(BlockCache, LoadsOnceAndHits) {
  BlockCache cache(1 << 20);
  int loads = 0;
  for (int i = 0; i < 3; ++i) {
    const auto block =
        cache.get_or_load({1, 0, 7}, 100, [&](Block& b) { return ++loads, fill_with(b, 42); }, Unbounded());
    ASSERT_TRUE(block);
    EXPECT_EQ((*block)->size(), 100U);
    EXPECT_EQ(std::to_integer<int>((*block)->bytes()[99]), 42);
  }
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(cache.counters().hits, 2U);
}

TEST(BlockCache, FailuresReachWaitersAndAreNotKept) {
  BlockCache cache(1 << 20);
  int loads = 0;
  const auto load = [&](Block&) -> Status { return ++loads, fail(Error(ErrorCode::FilterFailed, "bad")); };
  EXPECT_FALSE(cache.get_or_load({1, 0, 1}, 10, load, Unbounded()));
  EXPECT_FALSE(cache.get_or_load({1, 0, 1}, 10, load, Unbounded()));
  EXPECT_EQ(loads, 2);
  EXPECT_EQ(cache.used(), 0U);
}

TEST(BlockCache, ExceptionAnswersWaitersAndGivesTheChargeBack) {
  BlockCache cache(1 << 20);
  EXPECT_THROW((void)cache.get_or_load(
                   {1, 0, 1}, 10, [](Block&) -> Status { throw std::bad_alloc(); }, Unbounded()),
               std::bad_alloc);
  EXPECT_EQ(cache.used(), 0U);
  EXPECT_TRUE(cache.get_or_load({1, 0, 1}, 10, [](Block& b) { return fill_with(b, 1); }, Unbounded()));
}

// A text that lacks what could not be read for a moment.
TEST(BlockCache, WhatWasMadeInSpiteOfAMomentaryErrorIsNotKept) {
  BlockCache cache(1 << 20);
  const auto lacks = [](Block& b) {
    note_momentary(Error(ErrorCode::Io, "no answer"));
    return fill_with(b, 1);
  };
  EXPECT_FALSE(cache.get_or_load({1, 0, 1}, 10, lacks, Unbounded()));
  EXPECT_EQ(cache.used(), 0U);
  EXPECT_TRUE(cache.get_or_load({1, 0, 1}, 10, [](Block& b) { return fill_with(b, 1); }, Unbounded()));
}

TEST(BlockCache, AWaiterAsksItsBudgetWithoutALock) {
  BlockCache cache(1 << 20);
  std::atomic<bool> begun = false, asked = false;
  std::thread first([&] {
    (void)cache.get_or_load(
        {1, 0, 1}, 10,
        [&](Block& b) {
          begun = true;
          while (!asked) std::this_thread::yield();
          return fill_with(b, 3);
        },
        Unbounded());
  });
  while (!begun) std::this_thread::yield();
  RequestBudget budget;
  budget.poll([](void* data) { return *static_cast<std::atomic<bool>*>(data) = true, false; }, &asked);
  EXPECT_TRUE(cache.get_or_load({1, 0, 1}, 10, [](Block& b) { return fill_with(b, 4); }, budget));
  first.join();
}

TEST(BlockCache, OneLoadForManyWaiters) {
  BlockCache cache(1 << 20);
  std::atomic<int> loads{0}, good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      const auto block = cache.get_or_load(
          {1, 0, 5}, 1000,
          [&](Block& b) {
            ++loads;
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            return fill_with(b, 9);
          },
          Unbounded());
      if (block && (*block)->bytes()[500] == std::byte{9}) ++good;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(good, 16);
}

TEST(BlockCache, StaysWithinItsBudgetAndDropsTheLeastRecentlyUsed) {
  constexpr std::size_t kBudget = 100'000;
  BlockCache cache(kBudget);
  const auto get = [&](std::uint64_t i) {
    return cache.get_or_load(
        {1, 0, i}, 9'000, [&](Block& b) { return fill_with(b, static_cast<int>(i)); }, Unbounded());
  };
  const auto held = get(0);
  for (std::uint64_t i = 1; i < 100; ++i) {
    ASSERT_TRUE(get(i));
    ASSERT_TRUE(get(1));  // most recently used again
    EXPECT_LE(cache.used(), kBudget);
  }
  EXPECT_FALSE(cache.peek({1, 0, 0}));
  EXPECT_TRUE(cache.peek({1, 0, 1}));
  EXPECT_TRUE(cache.peek({1, 0, 99}));
  EXPECT_FALSE(cache.peek({1, 0, 50}));
  EXPECT_EQ((*held)->bytes()[0], std::byte{0});  // a reader's block survives its eviction
}

TEST(BlockCache, LoadsThatOverlapLeaveItWithinItsBudget) {
  BlockCache cache(4000);
  const auto outer = cache.get_or_load(
      {1, 0, 1}, 3000,
      [&](Block& b) {
        EXPECT_TRUE(cache.get_or_load(
            {1, 0, 2}, 3000, [](Block& inner) { return fill_with(inner, 2); }, Unbounded()));
        return fill_with(b, 1);
      },
      Unbounded());
  ASSERT_TRUE(outer);
  EXPECT_LE(cache.used(), 4000U);
}

TEST(BlockCache, ABlockLargerThanTheBudgetIsServedButNotKept) {
  BlockCache cache(1000);
  EXPECT_TRUE(cache.get_or_load({1, 0, 1}, 5000, [](Block& b) { return fill_with(b, 1); }, Unbounded()));
  EXPECT_EQ(cache.used(), 0U);
  EXPECT_FALSE(cache.peek({1, 0, 1}));
}

TEST(BlockCache, EraseWhilePendingLetsItsWaitersHaveTheBlock) {
  BlockCache cache(1 << 20);
  const auto block = cache.get_or_load(
      {1, 0, 1}, 10,
      [&](Block& b) {
        cache.erase({1, 0, 1});
        return fill_with(b, 3);
      },
      Unbounded());
  ASSERT_TRUE(block);
  EXPECT_FALSE(cache.peek({1, 0, 1}));
  EXPECT_EQ(cache.used(), 0U);
}

TEST(BlockCache, EraseOwnerTakesOnlyItsOwn) {
  BlockCache cache(1 << 20);
  for (std::uint64_t owner = 1; owner <= 2; ++owner)
    for (std::uint64_t i = 0; i < 50; ++i)
      ASSERT_TRUE(
          cache.get_or_load({owner, 0, i}, 10, [](Block& b) { return fill_with(b, 1); }, Unbounded()));
  cache.erase_owner(1);
  EXPECT_FALSE(cache.peek({1, 0, 7}));
  EXPECT_TRUE(cache.peek({2, 0, 7}));
}

TEST(BlockCache, ManyThreadsManyKeys) {
  BlockCache cache(200'000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        const std::uint64_t key = random() % 200;
        if (random() % 50 == 0) cache.erase({1, 0, key});
        const auto block = cache.get_or_load(
            {1, 0, key}, 2000 + key, [&](Block& b) { return fill_with(b, static_cast<int>(key % 251)); },
            Unbounded());
        if (!block || (*block)->size() != 2000 + key ||
            (*block)->bytes().back() != static_cast<std::byte>(key % 251))
          ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.used(), cache.budget());
}

// Memory beside the blocks takes their place.
TEST(BlockCache, ChargesEvictBlocks) {
  cache::BlockCache cache(1U << 20);
  const auto load = [](cache::Block&) { return Status(); };
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(cache.get_or_load({1, 0, i}, 100'000, load, Unbounded()));
  ASSERT_NE(cache.peek({1, 0, 0}), nullptr);
  auto charge = cache.charge(900'000);
  ASSERT_TRUE(charge);
  EXPECT_EQ(cache.charged(), 900'000U);
  EXPECT_EQ(cache.peek({1, 0, 0}), nullptr);
  EXPECT_LE(cache.used(), cache.budget());
  cache::BlockCache::Charge moved = std::move(*charge);
  ASSERT_TRUE(moved.resize(100));
  EXPECT_EQ(cache.charged(), 100U);
  moved = cache.no_charge();
  EXPECT_EQ(cache.charged(), 0U);
}

TEST(BlockCache, ChargesAreBoundedTogether) {
  constexpr std::size_t kBudget = 1U << 20, kMax = kBudget + limits::kMemoryAboveCache;
  cache::BlockCache cache(kBudget);
  {
    const auto alone = cache.charge(2 * kMax);
    EXPECT_TRUE(alone) << "one request is not refused";
    const auto second = cache.charge(1);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::OutOfMemory);
    EXPECT_EQ(second.error().errno_value(), ENOMEM);
  }
  EXPECT_EQ(cache.charged(), 0U);
  auto first = cache.charge(1);
  EXPECT_TRUE(cache.charge(kMax - 1));
  EXPECT_FALSE(cache.charge(kMax));
  EXPECT_EQ(cache.charged(), 1U);
}

}  // namespace
}  // namespace h5mount::cache
