// Lines of a catalogue, sound ones and others.
#include <gtest/gtest.h>

#include "../../src/tree/forest/catalogue_line.h"

namespace h5mount::tree {
namespace {

constexpr std::string_view kLine =
    R"({"path":"/a","kind":"dataset","shape":[2,3],"chunks":null,"size":24,"mtime":-5,)"
    R"("attributes":{"x":[1.5e-3,{"path":"no"}],"y":"}\"\u00e9"},"value":"NaN","error":"why"})";

TEST(CatalogueLines, AreTakenApartAtTheirOwnKeys) {
  const auto line = take_apart(kLine);
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->whole);
  EXPECT_EQ(line->path, "\"/a\"");
  EXPECT_EQ(line->shape, "[2,3]");
  EXPECT_EQ(line->size, "24");
  EXPECT_EQ(line->mtime, "-5");
  EXPECT_EQ(line->attributes, R"({"x":[1.5e-3,{"path":"no"}],"y":"}\"\u00e9"})");
  EXPECT_EQ(line->value, "\"NaN\"");
  EXPECT_EQ(line->error, "\"why\"");
  EXPECT_EQ(line->dtype, "");
}

TEST(CatalogueLines, ABeginningGivesWhatIsWholeInIt) {
  for (std::size_t size = 0; size < kLine.size(); ++size) {
    const auto line = take_apart(kLine.substr(0, size));
    ASSERT_EQ(line.has_value(), size >= std::string_view(R"({"path":"/a")").size()) << size;
    if (!line) continue;
    EXPECT_FALSE(line->whole) << size;
    EXPECT_EQ(line->path, "\"/a\"") << size;
    EXPECT_TRUE(line->attributes.empty() || line->attributes.ends_with('}')) << size;
  }
  const auto cut = take_apart(kLine.substr(0, kLine.find("\"y\":") + 6));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->kind, "\"dataset\"");
  EXPECT_EQ(cut->attributes, "");
}

TEST(CatalogueLines, WhatIsNoLineIsRefused) {
  for (const std::string_view text :
       {"", "{}", "[]", "lies", R"({"kind":"group"})", R"({"path":5})", R"({"path":"/"}x)",
        R"({"path":"/"}{})", R"({"path":"/","value":NaN})", R"({"path":"/","value":01})",
        R"({"path":"/","value":"\x"})", R"({"path":"/","value":[1,]})", "{\"path\":\"/\n\"}",
        "{\"path\":\"\xff\xff\xff\xff\"}", R"({"path":"/","a" :1})", R"({"path":"/",})"}) {
    const auto line = take_apart(text);
    EXPECT_FALSE(line && line->whole) << text;
  }
  const std::string deep = R"({"path":"/","value":)" + std::string(100'000, '[');
  EXPECT_FALSE(take_apart(deep));
}

TEST(CatalogueLines, StringsAreWhatTheyStandFor) {
  EXPECT_EQ(unescaped(R"("a\"\\\/\n\tb")"), "a\"\\/\n\tb");
  EXPECT_EQ(unescaped(R"("\u0041\u00e9\u20ac\ud83d\ude00")"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(unescaped(R"("\udcff-\ud800")"), "\\udcff-\\ud800");
  EXPECT_EQ(unescaped("\"\""), "");
}

}  // namespace
}  // namespace h5mount::tree
