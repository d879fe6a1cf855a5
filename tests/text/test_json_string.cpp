// Strings of JSON: whatever bytes a name has, its literal says them and no others, and has the length that is
// computed without writing it.
#include <gtest/gtest.h>

#include <random>

#include "h5mount/text/json_writer.h"

namespace h5mount::text {
namespace {

// The bytes that a literal says, by RFC 8259; a lone low surrogate of U+DC80 to U+DCFF is a byte that is no
// UTF-8, as Python's `surrogateescape` has it.
std::string said_by(std::string_view literal) {
  EXPECT_GE(literal.size(), 2U);
  EXPECT_EQ(literal.front(), '"');
  EXPECT_EQ(literal.back(), '"');
  literal = literal.substr(1, literal.size() - 2);
  std::string out;
  while (!literal.empty()) {
    const char c = literal.front();
    EXPECT_NE(c, '"');
    EXPECT_GE(static_cast<unsigned char>(c), 0x20);
    if (c != '\\') {
      out += c;
      literal.remove_prefix(1);
      continue;
    }
    const std::string_view kShort = "\"\\bfnrt", kMeant = "\"\\\b\f\n\r\t";
    if (const std::size_t at = kShort.find(literal.at(1)); at != std::string_view::npos) {
      out += kMeant[at];
      literal.remove_prefix(2);
      continue;
    }
    EXPECT_EQ(literal.at(1), 'u');
    const unsigned long unit = std::stoul(std::string(literal.substr(2, 4)), nullptr, 16);
    EXPECT_TRUE(unit < 0x20 || (unit >= 0xDC80 && unit <= 0xDCFF)) << literal;
    out += static_cast<char>(unit & 0xFF);
    literal.remove_prefix(6);
  }
  return out;
}

void expect_said(const std::string& bytes) {
  std::string literal;
  append_json_string(bytes, literal);
  EXPECT_EQ(said_by(literal), bytes);
  EXPECT_EQ(json_string_length(bytes), literal.size());
}

TEST(JsonString, EveryPairOfBytesIsSaid) {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second)
      expect_said({static_cast<char>(first), static_cast<char>(second)});
}

TEST(JsonString, SoIsEveryTextOfPartsOfCharacters) {
  const std::vector<std::string> parts = {"a",
                                          "\"",
                                          "\\",
                                          std::string(1, '\0'),
                                          "\xC3\xA9",
                                          "\xE2\x82\xAC",
                                          "\xF0\x9F\x99\x82",
                                          "\xF0\x9F",
                                          "\xE2",
                                          "\x80",
                                          "\xED\xA0\x80",
                                          "\xC0\x80",
                                          "\xF4\x90\x80\x80",
                                          "\n",
                                          "plain text of some length"};
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes;
    for (unsigned count = random() % 6; count > 0; --count) bytes += parts[random() % parts.size()];
    expect_said(bytes);
  }
}

TEST(JsonWriter, CommasStandBetweenValuesAlone) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object().key("a").begin_array().end_array();
  writer.key("b").begin_array().value(1).value("x").begin_object().end_object().value(nullptr).end_array();
  writer.member("c", true).key("d").begin_object().member("e", -7).end_object().key("f").raw("1.5");
  writer.key("g");
  writer.next() += "NaN";
  writer.end_object();
  EXPECT_EQ(out, R"({"a":[],"b":[1,"x",{},null],"c":true,"d":{"e":-7},"f":1.5,"g":NaN})");
}

}  // namespace
}  // namespace h5mount::text
