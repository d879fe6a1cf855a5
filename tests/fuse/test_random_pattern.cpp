#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "random_pattern.h"

namespace h5mount::fuse {
namespace {

constexpr std::uint64_t kPage = RandomPattern::kPage;

// A kernel that caches pages, and a reader of single pages.
struct Kernel {
  explicit Kernel(std::uint64_t image_pages) : pages(image_pages), pattern(image_pages * kPage) {}

  void read(std::uint64_t page) {
    if (cached.contains(page)) {
      if (stored_pages.erase(page) != 0) ++used;
      return;
    }
    ++requests;
    cached.insert(page);
    const RandomPattern::Noted noted = pattern.note(page * kPage, kPage);
    probes_used += noted.probe_used ? 1 : 0;
    probes += noted.probes;
    for (const auto& [begin, end] : noted.store) {
      EXPECT_LT(begin, end);
      EXPECT_LE(end, pages * kPage);
      for (std::uint64_t at = begin; at < end; at += kPage) {
        EXPECT_TRUE(cached.insert(at / kPage).second) << "stored what the kernel has";
        stored_pages.insert(at / kPage);
        ++stored;
      }
    }
    EXPECT_LE(stored, requests);  // never more bytes than were requested
  }

  std::uint64_t pages;
  RandomPattern pattern;
  std::set<std::uint64_t> cached, stored_pages;
  std::uint64_t requests = 0, stored = 0, used = 0, probes = 0, probes_used = 0;
};

std::vector<std::uint64_t> shuffled(std::uint64_t pages) {
  std::vector<std::uint64_t> out(pages);
  std::iota(out.begin(), out.end(), 0);
  std::mt19937 random(7);
  std::ranges::shuffle(out, random);
  return out;
}

TEST(RandomPattern, AReaderOfEverythingMakesFewerRequests) {
  Kernel kernel(4096);
  for (const std::uint64_t page : shuffled(4096)) kernel.read(page);
  EXPECT_LT(kernel.requests, 4096 * 7 / 8);
  EXPECT_EQ(kernel.used, kernel.stored);
  EXPECT_EQ(kernel.probes_used, kernel.probes);
}

// Records of some pages at random places.
TEST(RandomPattern, NeighboursComeFirst) {
  Kernel kernel(65'536);
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t first = random() % 4096 * 16;
    for (std::uint64_t page = first; page < first + 16; ++page) kernel.read(page);
  }
  EXPECT_GT(kernel.stored, kernel.requests * 3 / 4);
  EXPECT_GT(kernel.used, kernel.stored * 9 / 10);
}

TEST(RandomPattern, WhereUnderHalfAreUsedItStops) {
  Kernel kernel(262'144);
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) kernel.read(random() % 262'144);
  EXPECT_LE(kernel.stored, RandomPattern::kFirstWindows * RandomPattern::kWindow / kPage);
  EXPECT_LT(kernel.used, kernel.stored / 2);
}

// The share of probes that were requested is the share of stored pages that were used.
TEST(RandomPattern, ProbesTellWhatIsUsed) {
  Kernel kernel(8192);
  std::mt19937 random(9);
  for (int i = 0; i < 8000; ++i) kernel.read(random() % 8192);
  ASSERT_GT(kernel.probes, 30U);
  const double told = static_cast<double>(kernel.probes_used) / static_cast<double>(kernel.probes);
  const double real = static_cast<double>(kernel.used) / static_cast<double>(kernel.stored);
  EXPECT_NEAR(told, real, 0.15);
}

TEST(RandomPattern, NothingForFewRequestsOrLargeOnes) {
  RandomPattern pattern(1U << 20);
  for (std::uint64_t i = 1; i < RandomPattern::kSureAfter; ++i)
    EXPECT_TRUE(pattern.note(i * 7 % 256 * kPage, kPage).store.empty());
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_TRUE(pattern.note(i << 18, RandomPattern::kWindow + 1).store.empty());
}

TEST(RandomPattern, ImagesOnBothSidesOfItsLimit) {
  RandomPattern largest(RandomPattern::kMaxImage), larger(RandomPattern::kMaxImage + 1);
  std::uint64_t stored = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    stored += largest.note(i * 1'000'003 * kPage % RandomPattern::kMaxImage, kPage).store.size();
    EXPECT_TRUE(larger.note(i * 1'000'003 * kPage % RandomPattern::kMaxImage, kPage).store.empty());
  }
  EXPECT_GT(stored, 0U);
}

TEST(RandomPattern, TheLastPageEndsWithTheImage) {
  constexpr std::uint64_t kBytes = 17 * kPage + 5;
  RandomPattern pattern(kBytes);
  std::uint64_t last = 0;
  for (int i = 0; i < 200; ++i)
    for (const auto& [begin, end] : pattern.note(0, kPage).store) last = std::max(last, end);
  EXPECT_EQ(last, kBytes);
  EXPECT_TRUE(RandomPattern(0).note(0, kPage).store.empty());
}

}  // namespace
}  // namespace h5mount::fuse
