// One bound for what many files keep decoded.
#include "h5mount/base/shared_cache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace h5mount {
namespace {

constexpr std::size_t kCapacity = 1U << 20;
constexpr std::size_t kValue = 8U << 10;

std::shared_ptr<const int> value(int number) {
  return std::make_shared<const int>(number);
}

TEST(SharedCache, EachPartFindsItsOwnOnly) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  CachePart<int> first(memory), second(memory);
  first.insert(1, 77, value(1), 10);
  second.insert(1, 77, value(2), 10);
  first.insert(2, 77, value(3), 10);
  EXPECT_EQ(*first.find(1, 77), 1);
  EXPECT_EQ(*second.find(1, 77), 2);
  EXPECT_EQ(*first.find(2, 77), 3) << "another version";
  EXPECT_EQ(second.find(2, 77), nullptr);
  first.insert(1, 77, value(4), 10);
  EXPECT_EQ(*first.find(1, 77), 4) << "replaced";
}

// A thousand users take no more than one.
TEST(SharedCache, IsBoundedForAllPartsTogether) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  std::vector<std::unique_ptr<CachePart<int>>> parts;
  for (int i = 0; i < 1000; ++i) {
    parts.push_back(std::make_unique<CachePart<int>>(memory));
    for (std::uint64_t k = 0; k < 20; ++k) parts.back()->insert(0, k, value(i), kValue);
    ASSERT_LE(memory->held(), kCapacity);
  }
  EXPECT_GT(memory->held(), kCapacity / 2);
  for (std::uint64_t k = 0; k < 20; ++k) EXPECT_NE(parts.back()->find(0, k), nullptr);
  EXPECT_EQ(parts.front()->find(0, 0), nullptr);
}

TEST(SharedCache, OnePartMayHaveAllOfIt) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  CachePart<int> idle(memory), busy(memory);
  idle.insert(0, 1, value(1), kValue);
  for (std::uint64_t k = 0; k < 1000; ++k) busy.insert(0, k, value(2), kValue);
  std::size_t kept = 0;
  for (std::uint64_t k = 0; k < 1000; ++k) kept += busy.find(0, k) != nullptr ? 1U : 0U;
  EXPECT_GT(kept, kCapacity / kValue - 10);
  EXPECT_EQ(idle.find(0, 1), nullptr);
}

TEST(SharedCache, TheLeastRecentlyUsedGoesFirstWhoeversItIs) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  CachePart<int> first(memory), second(memory);
  first.insert(0, 5, value(1), kValue);
  first.insert(0, 6, value(2), kValue);
  for (std::uint64_t k = 0; k < 500; ++k) {
    second.insert(0, k, value(3), kValue);
    ASSERT_NE(first.find(0, 5), nullptr) << "it is used all the time";
  }
  EXPECT_EQ(first.find(0, 6), nullptr);
}

TEST(SharedCache, APartThatEndsGivesBackWhatItHeld) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  CachePart<int> stays(memory);
  stays.insert(0, 1, value(1), kValue);
  const std::size_t before = memory->held();
  const auto kept = value(9);
  {
    CachePart<int> ends(memory);
    ends.insert(0, 1, kept, kValue);
    for (std::uint64_t k = 2; k < 10; ++k) ends.insert(3, k, value(2), kValue);
    EXPECT_GT(memory->held(), before);
  }
  EXPECT_EQ(memory->held(), before);
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_NE(stays.find(0, 1), nullptr);
}

TEST(SharedCache, WhatIsLargerThanAllIsNotKept) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  CachePart<int> part(memory);
  part.insert(0, 1, value(1), kCapacity + 1);
  EXPECT_EQ(part.find(0, 1), nullptr);
  const auto grows = value(2);
  part.insert(0, 2, grows, 10);
  part.charge(0, 2, *grows, 100'000);
  EXPECT_GE(memory->held(), 100'000U);
  const int another = 2;
  part.charge(0, 2, another, 1);  // not what the key has
  EXPECT_GE(memory->held(), 100'000U);
  part.charge(0, 2, *grows, kCapacity + 1);
  EXPECT_EQ(part.find(0, 2), nullptr);
  EXPECT_EQ(memory->held(), 0U);
}

// What a local file quickly gives again takes no place of anything else.
TEST(SharedCache, BytesAndObjectsOfLocalFilesHaveBoundsOfTheirOwn) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  CachePart<int> others(memory), bytes(SharedCache::local_bytes_of(memory)),
      objects(SharedCache::local_objects_of(memory));
  others.insert(0, 1, value(1), kValue);
  for (std::uint64_t k = 0; k < 1000; ++k) {
    bytes.insert(0, k, value(2), 1024);
    objects.insert(0, k, value(3), 1024);
  }
  EXPECT_NE(others.find(0, 1), nullptr);
  EXPECT_LE(bytes.memory().held(), kCapacity / 20);
  EXPECT_GT(bytes.memory().held(), kCapacity / 40);
  EXPECT_LE(objects.memory().held(), kCapacity / 5);
  EXPECT_GT(objects.memory().held(), kCapacity / 10);
}

TEST(SharedCache, ManyThreads) {
  const auto memory = std::make_shared<SharedCache>(kCapacity);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        CachePart<int> part(memory);
        for (std::uint64_t k = 0; k < 100; ++k) {
          part.insert(0, k, value(t), kValue);
          const auto found = part.find(0, k);
          EXPECT_TRUE(!found || *found == t);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory->held(), 0U);
}

}  // namespace
}  // namespace h5mount
