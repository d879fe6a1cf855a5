#include "http/byte_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace h5mount::serve {
namespace {

using Kind = RangeSet::Kind;

std::vector<Range> ranges(std::string_view value, std::uint64_t size = 1000) {
  const RangeSet set = parse_ranges(value, size);
  EXPECT_EQ(set.kind, Kind::Satisfiable) << value;
  return set.ranges;
}

TEST(ByteRanges, FirstToLastOpenAndSuffix) {
  EXPECT_EQ(ranges("bytes=0-0"), (std::vector<Range>{{0, 1}}));
  EXPECT_EQ(ranges("bytes=10-19"), (std::vector<Range>{{10, 20}}));
  EXPECT_EQ(ranges("bytes=990-2000"), (std::vector<Range>{{990, 1000}}));
  EXPECT_EQ(ranges("bytes=999-"), (std::vector<Range>{{999, 1000}}));
  EXPECT_EQ(ranges("bytes=-10"), (std::vector<Range>{{990, 1000}}));
  EXPECT_EQ(ranges("bytes=-5000"), (std::vector<Range>{{0, 1000}}));
  EXPECT_EQ(ranges("Bytes = 1-2 , 5-6"), (std::vector<Range>{{1, 3}, {5, 7}}));
  EXPECT_EQ(ranges("bytes=0-18446744073709551615"), (std::vector<Range>{{0, 1000}}));
  EXPECT_EQ(ranges("bytes=0-99999999999999999999999"), (std::vector<Range>{{0, 1000}}));
}

TEST(ByteRanges, SeveralKeepTheirOrderAndAreJoinedWhereTheyMeet) {
  EXPECT_EQ(ranges("bytes=100-199,0-9"), (std::vector<Range>{{100, 200}, {0, 10}}));
  EXPECT_EQ(ranges("bytes=0-9,5-19,20-29"), (std::vector<Range>{{0, 30}}));
  EXPECT_EQ(ranges("bytes=0-9,40-49,5-45"), (std::vector<Range>{{0, 50}}));
  EXPECT_EQ(ranges("bytes=0-9,2000-3000,20-29"), (std::vector<Range>{{0, 10}, {20, 30}}));
}

TEST(ByteRanges, WhatHasNoBytes) {
  for (const char* value : {"bytes=1000-", "bytes=1000-2000", "bytes=-0", "bytes=99999999999999999999999-"})
    EXPECT_EQ(parse_ranges(value, 1000).kind, Kind::Unsatisfiable) << value;
  for (const char* value : {"bytes=0-", "bytes=0-0", "bytes=-1"})
    EXPECT_EQ(parse_ranges(value, 0).kind, Kind::Unsatisfiable) << value;
}

TEST(ByteRanges, WhatIsNotUnderstoodIsIgnored) {
  for (const char* value :
       {"", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=5", "bytes=5-4", "bytes=a-b", "bytes=1-2,x",
        "bytes=1--2", "bytes=+1-2", "bytes=0x1-2", "items=0-1", "bytes=1 -2", "bytes:0-1"})
    EXPECT_EQ(parse_ranges(value, 1000).kind, Kind::Ignored) << value;
}

TEST(ByteRanges, OnlySoMany) {
  std::string value = "bytes=0-0";
  for (std::size_t i = 1; i < kMaxRanges; ++i)
    value += "," + std::to_string(i * 3) + "-" + std::to_string(i * 3);
  EXPECT_EQ(parse_ranges(value, 1U << 20).ranges.size(), kMaxRanges);
  EXPECT_EQ(parse_ranges(value + ",5-5", 1U << 20).kind, Kind::Ignored);
}

// Every text of a few characters: what is found is inside the file, and no byte is in two ranges.
TEST(ByteRanges, EveryShortTextIsSafe) {
  constexpr std::string_view kAlphabet = "019-, b";
  std::size_t satisfiable = 0;
  std::string text;
  const auto check = [&](std::uint64_t size) {
    const RangeSet set = parse_ranges("bytes=" + text, size);
    ASSERT_EQ(set.kind == Kind::Satisfiable, !set.ranges.empty()) << text;
    if (set.ranges.empty()) return;
    ++satisfiable;
    for (std::size_t i = 0; i < set.ranges.size(); ++i) {
      ASSERT_LT(set.ranges[i].begin, set.ranges[i].end) << text;
      ASSERT_LE(set.ranges[i].end, size) << text;
      for (std::size_t j = 0; j < i; ++j)
        ASSERT_TRUE(set.ranges[i].end < set.ranges[j].begin || set.ranges[j].end < set.ranges[i].begin)
            << text;
    }
  };
  const auto extend = [&](auto& self, std::size_t left) -> void {
    for (const std::uint64_t size : {0, 1, 10, 1000}) check(size);
    if (left == 0) return;
    for (const char c : kAlphabet) {
      text += c;
      self(self, left - 1);
      text.pop_back();
    }
  };
  extend(extend, 6);
  EXPECT_GT(satisfiable, 1000U);
}

}  // namespace
}  // namespace h5mount::serve
