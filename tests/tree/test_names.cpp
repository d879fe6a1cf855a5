#include <gtest/gtest.h>

#include <random>

#include "h5mount/tree/names.h"

namespace h5mount::tree {
namespace {

using namespace std::string_literals;

TEST(Names, OrdinaryNamesStandByteForByte) {
  for (const std::string name : {"a", "temperature 2m", "100%", "%zz", "\xff\xfe", "~", "...", "%2"}) {
    EXPECT_EQ(encode_name(name), name);
    EXPECT_EQ(decode_name(name), name);
  }
}

TEST(Names, PlainOnesNeedNoEncoding) {
  EXPECT_TRUE(is_plain_name("temperature at 5 m"));
  EXPECT_TRUE(is_plain_name(std::string(kMaxShownName, 'x')));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("50%25"),
        std::string("a\0b", 3), std::string(kMaxShownName + 1, 'x'), encode_name(std::string(300, 'x'))})
    EXPECT_FALSE(is_plain_name(name)) << name;
  // Whatever is plain is shown as it is, and never taken for a cut name.
  std::mt19937 random(1);
  const std::string characters("ab.%/~0f\0", 9);
  int plain = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string name;
    for (std::size_t left = random() % 30; left > 0; --left) name += characters[random() % characters.size()];
    if (!is_plain_name(name)) continue;
    ++plain;
    ASSERT_EQ(encode_name(name), name);
    ASSERT_FALSE(may_be_cut(name));
  }
  EXPECT_GT(plain, 1000);
}

TEST(Names, WhatAFileCannotBeCalledIsEncoded) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "%"},          {"%", "%25"},       {".", "%2E"},     {"..", "%2E%2E"},
      {"a/b", "a%2Fb"},   {"a\0b"s, "a%00b"}, {"%2F", "%252F"}, {"%25", "%2525"},
      {"%%2F", "%%252F"}, {"%/x", "%%2Fx"},   {"%2/", "%2%2F"}, {"%2E", "%252E"},
  };
  for (const auto& [name, shown] : cases) {
    EXPECT_EQ(encode_name(name), shown);
    EXPECT_EQ(decode_name(shown), name);
  }
}

TEST(Names, OnlyTheShownFormIsAccepted) {
  for (const std::string shown : {".", "..", "%2f", "a%41", "%2E%2e", "a%2E", ""}) {
    const auto name = decode_name(shown);
    EXPECT_TRUE(!name || encode_name(*name) == shown) << shown;
  }
  EXPECT_FALSE(decode_name("%2f%2F"));
  EXPECT_FALSE(decode_name("."));
  EXPECT_TRUE(decode_name(std::string(255, 'x')));
  EXPECT_FALSE(decode_name(std::string(256, 'x')));
}

TEST(Names, LongNamesAreCutAtACharacter) {
  EXPECT_EQ(encode_name(std::string(255, 'x')).size(), 255U);
  const std::string cut = encode_name(std::string(256, 'x'));
  EXPECT_EQ(cut.size(), 255U);
  EXPECT_TRUE(may_be_cut(cut));
  EXPECT_FALSE(decode_name(cut) == std::string(256, 'x'));
  std::string accents;
  for (int i = 0; i < 150; ++i) accents += "\xc3\xa9";
  const std::string shown = encode_name("x" + accents);
  EXPECT_EQ(shown.size(), 237U + 17U);  // 238 would split a character
}

TEST(Names, AttributesKeepDotsAndEscapeTheReservedPrefix) {
  EXPECT_EQ(encode_attribute_name("."), ".");
  EXPECT_EQ(encode_attribute_name(".."), "..");
  EXPECT_EQ(encode_attribute_name("hdf5.kind"), "%68df5.kind");
  EXPECT_EQ(decode_attribute_name("%68df5.kind"), "hdf5.kind");
  EXPECT_EQ(decode_attribute_name("%68df5."), "hdf5.");
  EXPECT_EQ(encode_attribute_name("hdf5.%"), "%68df5.%");
  EXPECT_EQ(decode_attribute_name("%68df5.%"), "hdf5.%");
  EXPECT_FALSE(decode_attribute_name("hdf5.kind"));
  EXPECT_EQ(encode_attribute_name("%68df5.kind"), "%2568df5.kind");
  EXPECT_EQ(decode_attribute_name("%2568df5.kind"), "%68df5.kind");
  EXPECT_EQ(encode_attribute_name(std::string(251, 'a')).size(), 250U);
}

TEST(Names, TheLaterOfTwoThatMeetIsCutAndHashed) {
  const std::string cut = encode_name(std::string(300, 'x'));
  UniqueNames unique;
  EXPECT_EQ(unique.add(std::string(300, 'x'), cut), cut);
  const std::string other = unique.add(cut, encode_name(cut));
  EXPECT_NE(other, cut);
  EXPECT_EQ(other.size(), 255U);
  EXPECT_TRUE(may_be_cut(other));
}

using Place = AttributePlace;

TEST(AttributePlaces, TheFirstAtDivides) {
  const std::pair<Place, std::string> cases[] = {
      {{"d", "units"}, "d@units"}, {{std::nullopt, "title"}, "@title"},
      {{"", "a"}, "%@a"},          {{"a@b", "c@d"}, "a%40b@c@d"},
      {{"d", ""}, "d@%"},          {{"..", "."}, "%2E%2E@."},
      {{"50%", "%"}, "50%@%25"},   {{"%40", "x/y"}, "%2540@x%2Fy"},
      {{std::nullopt, "@"}, "@@"}, {{"%4@", "a\0"s}, "%4%40@a%00"},
  };
  for (const auto& [place, shown] : cases) {
    EXPECT_EQ(encode_attribute_place(place), shown);
    EXPECT_EQ(decode_attribute_place(shown), place) << shown;
  }
}

TEST(AttributePlaces, OnlyTheShownFormIsAccepted) {
  for (const std::string shown : {"d", "", "@", "d@", "a%2fb@c", "d@x%2fy", "..@a"}) {
    const auto place = decode_attribute_place(shown);
    EXPECT_TRUE(!place || encode_attribute_place(*place) == shown) << shown;
  }
  EXPECT_FALSE(decode_attribute_place("d"));
  EXPECT_FALSE(decode_attribute_place("..@a"));
  EXPECT_EQ(encode_name_without_at("a@b"), "a%40b");
  EXPECT_EQ(decode_name_without_at("a%40b"), "a@b");
  EXPECT_FALSE(decode_name_without_at("a@b"));
  EXPECT_FALSE(decode_name("a%40b"));
}

TEST(AttributePlaces, LongOnesAreCutAndStayApart) {
  const std::string object(250, 'x');
  const std::string first = encode_attribute_place({object, "units"}),
                    second = encode_attribute_place({object, "unit"});
  EXPECT_EQ(encode_attribute_place({object, "unit"}), object + "@unit");
  EXPECT_EQ(first.size(), 255U);
  EXPECT_TRUE(may_be_cut(first));
  EXPECT_NE(first, encode_attribute_place({object, "other"}));
  EXPECT_FALSE(decode_attribute_place(first));
  EXPECT_EQ(second.size(), 255U);
}

}  // namespace
}  // namespace h5mount::tree
