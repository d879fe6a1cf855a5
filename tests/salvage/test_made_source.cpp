// The bytes that salvage shows: the file's own, what is laid over, what was made, and what is lost.
#include "mend/made_source.h"

#include <gtest/gtest.h>

#include "support/half_source.h"

namespace h5mount::salvage {
namespace {

std::vector<std::byte> numbers(std::size_t count, unsigned first = 0) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(first + i);
  return out;
}

Result<std::vector<std::byte>> read(const MadeSource& source, std::uint64_t at, std::size_t count) {
  std::vector<std::byte> out(count);
  H5_TRY(source.read_at(at, out));
  return out;
}

TEST(MadeSource, ShowsAFileFromItsBaseOn) {
  const MadeSource source(io::make_memory_source(numbers(100)), 10);
  EXPECT_EQ(source.size(), 90U);
  EXPECT_EQ(*read(source, 5, 4), numbers(4, 15));
  EXPECT_FALSE(read(source, 88, 3));
}

TEST(MadeSource, AMissingFrontIsLost) {
  const MadeSource source(io::make_memory_source(numbers(100)), -8);
  EXPECT_FALSE(read(source, 7, 1));
  EXPECT_EQ(*read(source, 8, 2), numbers(2));
}

TEST(MadeSource, LaysOver) {
  MadeSource source(io::make_memory_source(numbers(20)), 0);
  source.lay_over(5, std::vector<std::byte>(3, std::byte{0xAA}));
  auto expected = numbers(20);
  for (std::size_t i = 5; i < 8; ++i) expected[i] = std::byte{0xAA};
  EXPECT_EQ(*read(source, 0, 20), expected);
  EXPECT_EQ(*read(source, 6, 1), std::vector<std::byte>(1, std::byte{0xAA}));
}

TEST(MadeSource, WhatIsMadeLiesApartFromWhatTheFileMayName) {
  MadeSource source(io::make_memory_source(numbers(20)), 0);
  source.begin_behind(1000, 8);
  const auto place = source.add(numbers(6, 50));
  ASSERT_TRUE(place);
  EXPECT_GT(*place, 1000U);
  EXPECT_EQ(*read(source, *place, 6), numbers(6, 50));
  EXPECT_FALSE(read(source, 20, 1)) << "behind the file";
  EXPECT_FALSE(read(source, 999, 2));
}

TEST(MadeSource, SmallAddressesEnd) {
  MadeSource source(io::make_memory_source(numbers(20)), 0);
  source.begin_behind(64'000, 2);
  EXPECT_FALSE(source.add(numbers(6)));
}

TEST(MadeSource, PartsLackWhatIsLost) {
  MadeSource source(io::make_memory_source(numbers(100)), 0);
  source.begin_behind(100, 8);
  const auto place = source.add_part(40, 20, {{4, 8}}, {});
  ASSERT_TRUE(place);
  EXPECT_EQ(*read(source, *place, 4), numbers(4, 40));
  EXPECT_FALSE(read(source, *place + 3, 2));
  EXPECT_FALSE(read(source, *place + 7, 2));
  EXPECT_EQ(*read(source, *place + 8, 12), numbers(12, 48));
  const auto filled = source.add_part(40, 20, {{4, 8}}, {std::byte{1}, std::byte{2}});
  auto expected = numbers(20, 40);
  for (std::size_t i = 4; i < 8; ++i) expected[i] = static_cast<std::byte>(1 + i % 2);
  EXPECT_EQ(*read(source, *filled, 20), expected);
}

TEST(MadeSource, AReadThatEndsEarlyIsAnErrorAndLeavesNothingOfTheMemory) {
  MadeSource source(std::make_shared<test::HalfSource>(), 0);
  source.lay_over(4, numbers(2, 1));
  std::vector<std::byte> out(8, std::byte{0xA5});
  const auto code = [&](std::uint64_t at, std::size_t count) {
    return source.read_at(at, MutableByteSpan(out).first(count)).error().code();
  };
  EXPECT_EQ(code(0, 8), ErrorCode::Internal);
  EXPECT_EQ(out, std::vector<std::byte>(8));
  source.begin_behind(2000, 8);
  const auto part = source.add_part(40, 20, {{4, 8}}, numbers(1, 7));
  ASSERT_TRUE(part);
  std::ranges::fill(out, std::byte{0xA5});
  EXPECT_EQ(code(*part + 6, 6), ErrorCode::Internal);
  EXPECT_EQ(out, (std::vector<std::byte>{
                     std::byte{7}, std::byte{7}, {}, {}, {}, {}, std::byte{0xA5}, std::byte{0xA5}}));
  EXPECT_TRUE(source.read_at(*part + 4, MutableByteSpan(out).first(4))) << "nothing of the half is in it";
}

TEST(MadeSource, Remarks) {
  MadeSource source(io::make_memory_source(numbers(20)), 0);
  EXPECT_FALSE(source.remark(7));
  source.remark_on(7, "{}");
  EXPECT_EQ(source.remark(7), "{}");
  EXPECT_FALSE(source.remark(8));
  source.remark_on_all("[]");
  EXPECT_EQ(source.remark(8), "[]");
  EXPECT_EQ(io::remarks_of(&source), &source);
}

}  // namespace
}  // namespace h5mount::salvage
