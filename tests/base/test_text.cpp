#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "h5mount/base/text.h"

namespace h5mount {
namespace {

TEST(Text, IsTrimmedAtBothEnds) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("--a-", "-"), "a");
}

TEST(Text, CaseIsThatOfAsciiAlone) {
  EXPECT_EQ(to_lower(std::string_view("AZ@[\xC4")), "az@[\xC4");
  EXPECT_TRUE(equals_ignoring_case("Content-TYPE", "content-type"));
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
  EXPECT_FALSE(equals_ignoring_case("\xC4", "\xE4"));
  EXPECT_TRUE(starts_ignoring_case("HTTP://x", "http://"));
  EXPECT_FALSE(starts_ignoring_case("HTT", "http://"));
}

TEST(Text, PartsAreTakenInTheirOrderWithEmptyOnesBetween) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = "a,,b,"; !rest.empty();) parts.push_back(take_until(rest, ','));
  EXPECT_EQ(parts, (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_at("a=b=c", '='), std::pair(std::string_view("a"), std::string_view("b=c")));
  EXPECT_EQ(split_at("a", '='), std::pair(std::string_view("a"), std::string_view("")));
}

TEST(Text, IsSplitAtEachSeparator) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
}

TEST(Text, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_whole<std::uint8_t>("255"), 255);
  EXPECT_EQ(parse_whole<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_whole<int>("-7"), -7);
  EXPECT_EQ(parse_whole<unsigned>("-7"), std::nullopt);
  EXPECT_EQ(parse_whole<unsigned>("fF", 16), 255U);
  EXPECT_EQ(parse_whole<double>("1.5e3"), 1500.0);
  for (const char* bad : {"", " 1", "1 ", "+1", "1x", "0x1"}) {
    EXPECT_EQ(parse_whole<int>(bad), std::nullopt) << bad;
    EXPECT_EQ(parse_whole<double>(bad), std::nullopt) << bad;
  }
}

TEST(Text, BytesAreTwoDigits) {
  EXPECT_EQ(to_hex(std::string_view("\0\x7F\xFF", 3)), "007fff");
  EXPECT_EQ(parse_hex_byte("4Ag"), 'J');
  EXPECT_EQ(parse_hex_byte("fF"), '\xFF');
  for (const char* bad : {"", "4", "4g", "-1", "+1", " 1"})
    EXPECT_EQ(parse_hex_byte(bad), std::nullopt) << bad;
}

TEST(ParseBytes, TakesUnits) {
  EXPECT_EQ(parse_bytes("1500"), 1500U);
  EXPECT_EQ(parse_bytes("64K"), 65'536U);
  EXPECT_EQ(parse_bytes("3m"), 3U << 20);
  EXPECT_EQ(parse_bytes("2G"), 2ULL << 30);
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("64MiB"), 64U << 20);
  EXPECT_EQ(parse_bytes("64MB"), 64'000'000U);
  EXPECT_EQ(parse_bytes("64mb"), 64'000'000U);
  EXPECT_EQ(parse_bytes("1.5G"), 3ULL << 29);
  EXPECT_EQ(parse_bytes("0.25K"), 256U);
  EXPECT_EQ(parse_bytes("16383.999999T"), 18'014'398'508'382'472ULL);
  for (const char* bad : {"", "K", "-1", "1.5", "1.G", ".5G", "1.2.3G", "1.0000000G", "1B", "1KBB", "1Ki",
                          "1 K", "1X", "99999999999999999999", "18446744073709551615K", "16777216T"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Suggestion, MayBeOneLetterOffInAShortWord) {
  constexpr std::string_view kNames[] = {"cache_size", "force", "uid"};
  EXPECT_EQ(suggestion("cachesize", kNames), "cache_size");
  EXPECT_EQ(suggestion("FORCED", kNames), "force");
  EXPECT_EQ(suggestion("uis", kNames), "uid");
  EXPECT_EQ(suggestion("uxx", kNames), "");
  EXPECT_EQ(suggestion("", kNames), "");
  EXPECT_EQ(suggestion("threads", kNames), "");
}

TEST(Suggestion, IsTheNearestNameOrNone) {
  static constexpr std::string_view kNames[] = {"--list", "--cat", "--copy", "--serve", "cache_size"};
  const std::pair<const char*, const char*> cases[] = {{"list", "--list"},
                                                       {"lits", ""},
                                                       {"lst", "--list"},
                                                       {"LIST", "--list"},
                                                       {"coppy", "--copy"},
                                                       {"serv", "--serve"},
                                                       {"x", ""},
                                                       {"cachesise", "cache_size"},
                                                       {"cache-size", "cache_size"},
                                                       {"", ""}};
  for (const auto& [word, meant] : cases) EXPECT_EQ(suggestion(word, kNames), meant) << word;
  EXPECT_EQ(suggestion(std::string(1000, 'l'), kNames), "");
}

// The examples of RFC 4648, 10.
TEST(Base64, GroupsOfThreeBytes) {
  const std::string whole = "foobar";
  const char* const coded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t count = 0; count <= whole.size(); ++count) {
    const std::string text = whole.substr(0, count);
    std::string out = "before:";
    append_base64(text, out);
    EXPECT_EQ(out, std::string("before:") + coded[count]);
    EXPECT_EQ(from_base64(coded[count]), text);
  }
  EXPECT_EQ(from_base64("Zm9v*Zm9v"), "foo");
}

}  // namespace
}  // namespace h5mount
