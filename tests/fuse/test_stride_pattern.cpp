#include <gtest/gtest.h>

#include <set>

#include "../../src/fuse/ops/stride_pattern.h"

namespace h5mount::fuse {
namespace {

constexpr std::uint64_t kPage = 4096;

// A kernel that caches pages, and a reader of `bytes` at every `stride` from `start` on.
struct Kernel {
  explicit Kernel(std::uint64_t image, std::vector<std::uint64_t> rows)
      : size(image), pattern(image, std::move(rows)) {}

  void read(std::uint64_t at, std::uint64_t bytes) {
    const std::uint64_t first = at / kPage, last = (at + bytes - 1) / kPage;
    bool all = true;
    for (std::uint64_t page = first; page <= last; ++page) all = all && pages.contains(page);
    if (all) return;
    ++requests;
    const auto batch = pattern.note(first * kPage, (last - first + 1) * kPage);
    for (std::uint64_t page = first; page <= last; ++page) pages.insert(page);
    if (!batch) return;
    for (std::uint64_t i = 0; i < batch->count; ++i) {
      const std::uint64_t place = batch->first + i * batch->stride;
      EXPECT_LT(place, size);
      if (i == batch->skipped) continue;
      for (std::uint64_t page = place / kPage; page * kPage < place + batch->bytes; ++page)
        given += pages.insert(page).second ? 1 : 0;
    }
  }
  void column(std::uint64_t start, std::uint64_t stride, std::uint64_t bytes) {
    for (std::uint64_t at = start; at + bytes <= size; at += stride) read(at, bytes), ++places;
  }

  std::uint64_t size;
  StridePattern pattern;
  std::set<std::uint64_t> pages;
  std::uint64_t requests = 0, given = 0, places = 0;
};

TEST(StridePattern, AColumnOfWholePagesIsAskedForOnceInAWhile) {
  Kernel kernel(8192 * 65536, {65536});
  kernel.column(12, 65536, 4);
  EXPECT_LT(kernel.requests, 40U);
  EXPECT_EQ(kernel.requests + kernel.given, kernel.places);  // nothing but what was read
}

TEST(StridePattern, RowsNeedNotBeWholePages) {
  for (const std::uint64_t row : {9000U, 10'000U, 14'321U, 123'457U}) {
    for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{4090}, row - 8}) {
      Kernel kernel(2000 * row, {row});
      kernel.column(start, row, 8);
      EXPECT_LT(kernel.requests, 60U) << row << " from " << start;
      EXPECT_LT(kernel.given, 2 * kernel.places) << row << " from " << start;
    }
  }
}

TEST(StridePattern, EveryTenthRowAndPlacesOverSeveralPages) {
  Kernel kernel(20'000 * 6000, {6000});
  kernel.column(100, 60'000, 9000);
  EXPECT_LT(kernel.requests, 60U);
}

TEST(StridePattern, DistancesOfNoDimension) {
  Kernel kernel(4000 * 3 * kPage, {});
  kernel.column(5, 3 * kPage, 4);
  EXPECT_LT(kernel.requests, 40U);
}

TEST(StridePattern, WhatIsPreparedIsNeverMuchMoreThanWhatWasAskedFor) {
  StridePattern pattern(1U << 30, {65536});
  std::uint64_t asked = 0, prepared = 0;
  std::set<std::uint64_t> ready;
  for (std::uint64_t at = 0; at < 1U << 30; at += 65536) {
    ++asked;
    if (ready.contains(at)) continue;
    if (const auto batch = pattern.note(at, kPage)) {
      prepared += batch->count;
      for (std::uint64_t i = 0; i < batch->count; ++i)
        if (i != batch->skipped) ready.insert(batch->first + i * batch->stride);
      EXPECT_LE(prepared, 4 * asked + 16);
      EXPECT_LE(batch->count, 512U);
    }
  }
}

TEST(StridePattern, OtherReadersAreLeftAlone) {
  StridePattern in_order(1U << 30, {65536}), swapped(1U << 30, {65536}), jumping(1U << 30, {65536}),
      backward(1U << 30, {65536}), large(1U << 30, {1U << 20});
  std::uint64_t random = 88172645463325252ULL;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_FALSE(in_order.note(i * kPage, kPage));
    EXPECT_FALSE(swapped.note((i ^ 1) * 32768, 32768));
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    EXPECT_FALSE(jumping.note(random % (1U << 18) * kPage, kPage));
    EXPECT_FALSE(backward.note((1000 - i) * 65536, kPage));
    EXPECT_FALSE(large.note(i << 20, 128U << 10));
  }
}

TEST(StridePattern, AJumpBeginsAnew) {
  StridePattern pattern(1U << 30, {65536});
  EXPECT_FALSE(pattern.note(0, kPage));
  EXPECT_FALSE(pattern.note(65536, kPage));
  EXPECT_TRUE(pattern.note(2 * 65536, kPage));
  const std::uint64_t run = pattern.run();
  EXPECT_FALSE(pattern.note(3 * 65536, kPage));
  EXPECT_EQ(pattern.run(), run);
  EXPECT_FALSE(pattern.note(900 << 20, kPage));
  EXPECT_NE(pattern.run(), run);
  EXPECT_FALSE(pattern.note((900 << 20) + 65536, kPage));
  EXPECT_TRUE(pattern.note((900 << 20) + 2 * 65536, kPage));
}

TEST(StridePattern, NothingBehindTheEnd) {
  StridePattern pattern(5 * 65536 + 1, {65536});
  EXPECT_FALSE(pattern.note(0, kPage));
  EXPECT_FALSE(pattern.note(65536, kPage));
  EXPECT_FALSE(pattern.note(2 * 65536, kPage));  // the fourth position from here is absent
  StridePattern enough(7 * 65536 + 1, {65536});
  for (std::uint64_t i = 0; i < 2; ++i) EXPECT_FALSE(enough.note(i * 65536, kPage));
  const auto batch = enough.note(2 * 65536, kPage);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->first, 6U * 65536);
  EXPECT_EQ(batch->count, 2U);
}

}  // namespace
}  // namespace h5mount::fuse
