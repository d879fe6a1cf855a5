#include <gtest/gtest.h>

#include "diff/ignored.h"

namespace h5mount::front {
namespace {

bool stops(std::string_view glob, std::string_view text) {
  return glob_matches(glob, text, Star::StopsAtSlash);
}
bool crosses(std::string_view glob, std::string_view text) {
  return glob_matches(glob, text, Star::CrossesSlash);
}

TEST(DiffIgnored, AStarStopsAtASlashAndTwoDoNot) {
  EXPECT_TRUE(stops("/a/*", "/a/b"));
  EXPECT_TRUE(stops("/a/*", "/a/"));
  EXPECT_FALSE(stops("/a/*", "/a/b/c"));
  EXPECT_FALSE(stops("/*", "/a/b"));
  EXPECT_TRUE(stops("/**", "/a/b"));
  EXPECT_TRUE(stops("**/c", "/a/b/c"));
  EXPECT_TRUE(stops("/**/c", "/a/c"));
  EXPECT_FALSE(stops("/**/c", "/c"));
  EXPECT_TRUE(crosses("/a/*", "/a/b/c"));
  EXPECT_TRUE(crosses("*@date", "/a/b@date"));
  EXPECT_FALSE(crosses("*@date", "/a/b@date2"));
}

TEST(DiffIgnored, StarsTakeAsMuchAsTheRestNeeds) {
  EXPECT_TRUE(stops("/*a*b", "/xaxbxb"));
  EXPECT_FALSE(stops("/*a*b", "/xaxbx"));
  EXPECT_TRUE(stops("**a/*b", "/a/xa/xb"));
  EXPECT_TRUE(stops("**/x*/**/y", "/a/x1/q/x2/b/c/y"));
  EXPECT_FALSE(stops("**/x*z/y", "/a/x/z/y"));
  EXPECT_TRUE(stops("**a*b/c**d", "/a/ab/cc/d"));
  EXPECT_TRUE(stops("***", "/a/b"));
  EXPECT_TRUE(stops("", ""));
  EXPECT_FALSE(stops("", "/"));
  EXPECT_TRUE(stops("*", ""));
}

TEST(DiffIgnored, SingleCharacters) {
  EXPECT_TRUE(stops("/?", "/a"));
  EXPECT_FALSE(stops("/a?b", "/a/b"));
  EXPECT_TRUE(stops("/[a-c]", "/b"));
  EXPECT_FALSE(stops("/[a-c]", "/d"));
  EXPECT_TRUE(stops("/[!a-c]", "/d"));
  EXPECT_TRUE(stops("/[^a-c]", "/d"));
  EXPECT_FALSE(stops("/a[!x]b", "/a/b"));
  EXPECT_TRUE(stops("/[]]", "/]"));
  EXPECT_TRUE(stops("/[a-]", "/-"));
  EXPECT_TRUE(stops("/[\x80-\xFF]", "/\xC3"));
  EXPECT_TRUE(stops("/[a", "/[a"));
  EXPECT_TRUE(stops("/[", "/["));
  EXPECT_TRUE(stops("/\\*", "/*"));
  EXPECT_FALSE(stops("/\\*", "/a"));
  EXPECT_TRUE(stops("/a\\", "/a\\"));
}

TEST(DiffIgnored, LongTextsAndManyStarsEndSoon) {
  std::string text, glob;
  for (int i = 0; i < 20'000; ++i) text += "/aaaaaaaa";
  for (int i = 0; i < 50; ++i) glob += "**a*a";
  EXPECT_FALSE(stops(glob + "b", text));
  EXPECT_FALSE(crosses(glob + "b", text));
}

TEST(DiffIgnored, PathsAndAttributes) {
  const Ignored none({});
  EXPECT_FALSE(none.has("/"));
  EXPECT_EQ(none.attribute("/", "x"), Ignored::Attribute::Counts);
  const Ignored some({"a/", "/b/*", "*@date", "/c*@note", "@title", "/[@]", "x\\@y"});
  EXPECT_TRUE(some.has("/a"));
  EXPECT_FALSE(some.has("/b"));
  EXPECT_TRUE(some.has("/b/c"));
  EXPECT_TRUE(some.has("/@"));
  EXPECT_TRUE(some.has("/x@y"));
  EXPECT_FALSE(some.has("/"));
  EXPECT_EQ(some.attribute("/q/r", "date"), Ignored::Attribute::IgnoredEverywhere);
  EXPECT_EQ(some.attribute("/c/d", "note"), Ignored::Attribute::IgnoredHere);
  EXPECT_EQ(some.attribute("/d/c", "note"), Ignored::Attribute::Counts);
  EXPECT_EQ(some.attribute("/", "title"), Ignored::Attribute::IgnoredHere);
  EXPECT_EQ(some.attribute("/a", "title"), Ignored::Attribute::Counts);
  // The root has no name that a star could stand for.
  EXPECT_FALSE(Ignored({"/*", "*"}).has("/"));
  for (const char* glob : {"/", "**", "/**"}) EXPECT_TRUE(Ignored({glob}).has("/")) << glob;
}

}  // namespace
}  // namespace h5mount::front
