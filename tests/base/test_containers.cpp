// Row-major stepping, the LRU cache, scratch buffers and values made once.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "h5mount/base/lru_cache.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/row_major.h"
#include "h5mount/base/scratch_buffer.h"

namespace h5mount {
namespace {

using Place = std::vector<std::uint64_t>;

TEST(RowMajor, StepsThroughEveryPlaceInOrder) {
  const Place extents{2, 3, 4};
  Place at(3, 0), back(3);
  for (std::uint64_t number = 0; number < 24; ++number) {
    EXPECT_EQ(row_major_number(at, extents), number);
    row_major_place(number, extents, back);
    EXPECT_EQ(back, at);
    const auto stepped = next_row_major(at, extents);
    if (number == 23) {
      EXPECT_EQ(stepped, std::nullopt);
    } else {
      EXPECT_EQ(stepped, number % 12 == 11 ? 0U : number % 4 == 3 ? 1U : 2U);
    }
  }
  EXPECT_EQ(at, Place({0, 0, 0})) << "after the last place all are zero again";
}

TEST(RowMajor, RankZeroHasOnePlace) {
  Place none;
  EXPECT_EQ(next_row_major(none, none), std::nullopt);
  EXPECT_EQ(row_major_number(none, none), 0U);
}

TEST(LruCache, TheLeastRecentlyUsedIsDroppedFirst) {
  LruCache<int> cache(30);
  for (int i = 0; i < 3; ++i) cache.insert(static_cast<std::uint64_t>(i), std::make_shared<int>(i), 10);
  ASSERT_TRUE(cache.find(0));
  cache.insert(3, std::make_shared<int>(3), 10);
  EXPECT_TRUE(cache.find(0));
  EXPECT_FALSE(cache.find(1));
  EXPECT_TRUE(cache.find(2));
  EXPECT_EQ(*cache.find(3), 3);
}

TEST(LruCache, WhatExceedsTheCapacityIsKeptOnlyAmongTheLastUsed) {
  LruCache<int> strict(10), lenient(10, 2);
  for (std::uint64_t key = 0; key < 3; ++key) {
    strict.insert(key, std::make_shared<int>(0), 11);
    lenient.insert(key, std::make_shared<int>(0), 11);
  }
  EXPECT_FALSE(strict.find(2));
  EXPECT_FALSE(lenient.find(0));
  EXPECT_TRUE(lenient.find(1));
  EXPECT_TRUE(lenient.find(2));
}

TEST(LruCache, AValueThatGrewMakesRoomForItself) {
  LruCache<int> cache(30);
  const auto value = std::make_shared<int>(1);
  cache.insert(1, value, 10);
  cache.insert(2, std::make_shared<int>(2), 10);
  cache.charge(1, int(1), 30);
  EXPECT_TRUE(cache.find(1) && cache.find(2)) << "an equal value that is another is not the key's";
  EXPECT_TRUE(cache.find(1));
  cache.charge(1, *value, 30);
  EXPECT_FALSE(cache.find(2));
  EXPECT_TRUE(cache.find(1));
  cache.charge(1, *value, 5);
  cache.insert(3, std::make_shared<int>(3), 25);
  EXPECT_TRUE(cache.find(1) && cache.find(3)) << "and gives back what it no longer takes";
  cache.charge(1, *value, 31);
  EXPECT_FALSE(cache.find(1)) << "more than the capacity";
  EXPECT_TRUE(cache.find(3));
}

TEST(LruCache, AKeysValueIsReplacedAndClearedWithTheRest) {
  LruCache<int> cache(100);
  cache.insert(1, std::make_shared<int>(1), 60);
  cache.insert(1, std::make_shared<int>(2), 60);
  EXPECT_EQ(*cache.find(1), 2);
  cache.insert(2, std::make_shared<int>(3), 40);
  EXPECT_TRUE(cache.find(1)) << "the value before gave its bytes back";
  cache.clear();
  EXPECT_FALSE(cache.find(1));
  for (std::uint64_t key = 0; key < 10; ++key) cache.insert(key, std::make_shared<int>(0), 10);
  EXPECT_TRUE(cache.find(0)) << "clear gives all of the capacity back";
}

TEST(ScratchBuffer, GrowsAndGivesBack) {
  ScratchBuffer buffer;
  std::byte* const first = buffer.grown(100).data();
  EXPECT_EQ(buffer.grown(50).data(), first);
  EXPECT_EQ(buffer.grown(50).size(), 50U);
  EXPECT_EQ(buffer.capacity(), 100U);
  EXPECT_EQ(buffer.grown(200).size(), 200U);
  ScratchBuffer moved(std::move(buffer));
  EXPECT_EQ(moved.capacity(), 200U);
  EXPECT_EQ(buffer.capacity(), 0U);
  EXPECT_NE(buffer.grown(10).data(), nullptr) << "a buffer that was moved from is empty";
  moved.trim(200);
  EXPECT_EQ(moved.capacity(), 200U);
  moved.trim(199);
  EXPECT_EQ(moved.capacity(), 0U);
}

TEST(OnceValue, IsMadeOnceHoweverManyAsk) {
  OnceValue<int> value;
  std::atomic<int> made = 0;
  EXPECT_EQ(value.peek(), std::nullopt);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(
        [&] { EXPECT_EQ(value.get([&]() -> Result<int> { return ++made; }, Unbounded()).value(), 1); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(value.peek(), 1);
}

TEST(OnceValue, AFailureIsNotKept) {
  OnceValue<int> value;
  EXPECT_FALSE(value.get([]() -> Result<int> { return fail(Error(ErrorCode::Io, "once")); }, Unbounded()));
  EXPECT_EQ(value.peek(), std::nullopt);
  EXPECT_THROW((void)value.get([]() -> Result<int> { throw 1; }, Unbounded()), int);
  EXPECT_EQ(value.get([]() -> Result<int> { return 3; }, Unbounded()).value(), 3);
}

}  // namespace
}  // namespace h5mount
