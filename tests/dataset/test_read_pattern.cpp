#include <gtest/gtest.h>

#include "h5mount/dataset/read_pattern.h"

namespace h5mount::dataset {
namespace {

TEST(ReadPattern, ForwardAfterTwoSteps) {
  ReadPattern p;
  EXPECT_FALSE(p.note(0, 131072));
  EXPECT_TRUE(p.note(131072, 131072));
  EXPECT_TRUE(p.note(3 * 131072, 131072));  // the kernel's requests may swap
  EXPECT_TRUE(p.note(2 * 131072, 131072));
}

// Requests of two threads of the reader may wait in two queues.
TEST(ReadPattern, WindowsOfAForwardReaderMaySwap) {
  constexpr std::uint64_t kRequest = 256U << 10, kWindow = 2U << 20;
  ReadPattern p;
  for (std::uint64_t at = 0; at < kWindow; at += kRequest) (void)p.note(at, kRequest);
  for (std::uint64_t at = 2 * kWindow; at < 3 * kWindow; at += kRequest) EXPECT_TRUE(p.note(at, kRequest));
  for (std::uint64_t at = kWindow; at < 2 * kWindow; at += kRequest) EXPECT_TRUE(p.note(at, kRequest));
  EXPECT_TRUE(p.note(3 * kWindow, kRequest));
  EXPECT_EQ(p.claim_behind(5), (std::pair<std::uint64_t, std::uint64_t>(0, 0)));  // from here on
  EXPECT_EQ(p.claim_behind(7), (std::pair<std::uint64_t, std::uint64_t>(5, 7)));
}

TEST(ReadPattern, JumpsAreRandom) {
  ReadPattern p;
  for (std::uint64_t at : {100ULL << 20, 5ULL << 20, 900ULL << 20, 50ULL << 20})
    EXPECT_FALSE(p.note(at, 4096));
}

TEST(ReadPattern, AColumnIsRandom) {
  ReadPattern p;
  for (std::uint64_t row = 0; row < 100; ++row) EXPECT_FALSE(p.note(row << 16, 4096));
}

TEST(ReadPattern, SmallRequestsOneAfterAnotherGoForward) {
  ReadPattern p;
  for (std::uint64_t at = 0; at < 100; ++at) EXPECT_EQ(p.note(at * 4096, 4096), at > 0);
}

TEST(ReadPattern, ReadingAgainFromTheStartBeginsAnew) {
  ReadPattern p;
  for (std::uint64_t at = 0; at < 100; ++at) (void)p.note(at << 20, 1 << 20);
  EXPECT_TRUE(p.forward());
  EXPECT_FALSE(p.note(0, 1 << 20));
}

TEST(ReadPattern, AheadIsClaimedOnce) {
  ReadPattern p;
  EXPECT_EQ(p.claim_ahead(3, 6), (std::pair<std::uint64_t, std::uint64_t>(4, 7)));
  EXPECT_EQ(p.claim_ahead(3, 6), (std::pair<std::uint64_t, std::uint64_t>(0, 0)));
  EXPECT_EQ(p.claim_ahead(4, 8), (std::pair<std::uint64_t, std::uint64_t>(7, 9)));
}

TEST(ReadPattern, ThePositionOutlivesThePattern) {
  std::shared_ptr<const std::atomic<std::uint64_t>> position;
  {
    ReadPattern p;
    position = p.position();
    (void)p.note(0, 4096);
    (void)p.note(4096, 4096);
    EXPECT_EQ(*position, 8192U);
    (void)p.note(0, 100);  // from the start again, a shorter distance
    EXPECT_EQ(*position, 8192U);
  }
  EXPECT_EQ(*position, 8192U);
}

TEST(ReadPattern, BehindIsClaimedOnceAndFromWhereTheReaderBegan) {
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  ReadPattern p;
  EXPECT_EQ(p.claim_behind(7), Range(0, 0));
  EXPECT_EQ(p.claim_behind(7), Range(0, 0));
  EXPECT_EQ(p.claim_behind(9), Range(7, 9));
  EXPECT_EQ(p.claim_behind(8), Range(0, 0));
  EXPECT_FALSE(p.note(100 << 20, 4096));  // far away: the bytes between were not read
  EXPECT_EQ(p.claim_behind(50), Range(0, 0));
  EXPECT_EQ(p.claim_behind(51), Range(50, 51));
}

}  // namespace
}  // namespace h5mount::dataset
