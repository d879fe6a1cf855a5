#include <gtest/gtest.h>

#include "../../src/tree/core/symlink_text.h"

namespace h5mount::tree {
namespace {

TEST(SymlinkText, OfSoftLinks) {
  const auto text = [](std::string_view target, unsigned depth) {
    return symlink_text(soft_link_path(target, depth));
  };
  EXPECT_EQ(text("a/b", 2), "a/b");
  EXPECT_EQ(text("/a/b", 2), "../../a/b");
  EXPECT_EQ(text("./a//b/./", 2), "a/b");
  EXPECT_EQ(text("/", 2), "../..");
  EXPECT_EQ(text("/", 0), ".");
  EXPECT_EQ(text(".", 2), ".");
  EXPECT_EQ(text("", 2), ".");
  EXPECT_EQ(text("../a", 1), "%2E%2E/a");
}

TEST(SymlinkText, OfNamesAndOtherFiles) {
  EXPECT_EQ(symlink_text(canonical_path(std::vector<std::string>{"a", "b/c"}, 1)), "../a/b%2Fc");
  EXPECT_EQ(symlink_text(external_link_path("o.h5", "/x/y", 2)), "../../.h5/external/o.h5/x/y");
  EXPECT_EQ(symlink_text(external_link_path("o.h5", "/", 2)), "../../.h5/external/o.h5");
}

TEST(SymlinkText, TheLastNameIsTaken) {
  SymlinkPath path{.above = "../", .names = {"n"}, .path = "a/./b/./"};
  EXPECT_EQ(take_last_name(path), "b");
  EXPECT_EQ(symlink_text(path), "../n/a");
  EXPECT_EQ(take_last_name(path), "a");
  EXPECT_TRUE(has_names(path));
  EXPECT_EQ(take_last_name(path), "n");
  EXPECT_FALSE(has_names(path));
  EXPECT_EQ(take_last_name(path), "");
  EXPECT_EQ(symlink_text(path), "..");
  EXPECT_FALSE(has_names(soft_link_path("/.//./", 1)));
}

}  // namespace
}  // namespace h5mount::tree
