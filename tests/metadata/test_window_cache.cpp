#include "window_cache.h"

#include <gtest/gtest.h>

#include "support/far_source.h"
#include "support/faulty_source.h"

namespace h5mount::metadata {
namespace {

constexpr std::size_t kWindowBytes = 16U << 10;  // of a local source

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
  return bytes;
}

TEST(WindowCache, EveryPlaceAndLength) {
  const auto bytes = pattern(70'001);
  const auto source = std::make_shared<test::FaultySource>(bytes);
  WindowCache cache(source, std::make_shared<SharedCache>(4U << 20));
  for (std::size_t offset = 0; offset < bytes.size(); offset += 501) {
    for (const std::size_t length :
         {std::size_t{1}, std::size_t{8}, std::size_t{5'000}, std::size_t{16'384}, std::size_t{40'000}}) {
      std::vector<std::byte> out(length);
      const bool inside = length <= bytes.size() - offset;
      ASSERT_EQ(cache.read(1, offset, out).has_value(), inside) << offset << " " << length;
      if (inside)
        ASSERT_TRUE(std::equal(out.begin(), out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
  }
  std::vector<std::byte> out(1);
  EXPECT_FALSE(cache.read(1, ~std::uint64_t{0}, out));
  EXPECT_FALSE(cache.read(1, bytes.size(), out));
}

TEST(WindowCache, OneReadBringsNeighbours) {
  const auto source = std::make_shared<test::FaultySource>(pattern(1U << 20));
  WindowCache cache(source, std::make_shared<SharedCache>(4U << 20));
  std::vector<std::byte> out(64);
  for (std::uint64_t offset = 0; offset + 64 <= kWindowBytes; offset += 64)
    ASSERT_TRUE(cache.read(1, offset, out));
  EXPECT_EQ(source->reads, 1U);
  ASSERT_TRUE(cache.read(1, 5 * kWindowBytes - 10, out));  // two windows, one read
  EXPECT_EQ(source->reads, 2U);
  ASSERT_TRUE(cache.read(1, 2 * kWindowBytes - 10, out));
  EXPECT_EQ(source->reads, 3U);
}

TEST(WindowCache, ASnapshotFindsOnlyItsOwnWindows) {
  const auto source = std::make_shared<test::FaultySource>(pattern(1U << 20));
  WindowCache cache(source, std::make_shared<SharedCache>(4U << 20));
  std::vector<std::byte> out(64);
  for (const std::uint64_t snapshot : {1, 2, 1, 2}) ASSERT_TRUE(cache.read(snapshot, 0, out));
  EXPECT_EQ(source->reads, 2U);
}

TEST(WindowCache, IsBounded) {
  const auto source = std::make_shared<test::FaultySource>(pattern(12U << 20));
  WindowCache cache(source, std::make_shared<SharedCache>(4U << 20));
  std::vector<std::byte> out(64);
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t offset = 0; offset < 12U << 20; offset += kWindowBytes)
      ASSERT_TRUE(cache.read(1, offset, out));
  EXPECT_EQ(source->reads, 2 * (12U << 20) / kWindowBytes);
}

TEST(WindowCache, TheSourceSaysHowLargeAWindowIs) {
  const auto source = std::make_shared<test::FarSource>(io::make_memory_source(pattern(1U << 20)), 64U << 10);
  WindowCache cache(source, std::make_shared<SharedCache>());
  std::vector<std::byte> out(64);
  for (std::uint64_t offset = 0; offset < 64U << 10; offset += 1024) ASSERT_TRUE(cache.read(1, offset, out));
  EXPECT_EQ(source->reads(), 1U);
}

}  // namespace
}  // namespace h5mount::metadata
