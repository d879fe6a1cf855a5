// Extended attributes through a real mount.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include "../../src/fuse/ops/xattr_answers.h"
#include "session_fixture.h"

namespace h5mount::test {
namespace {

TEST_F(SessionTest, XattrsOfTheUserNamespaceOnly) {
  tree->node(big_id).xattrs = {{"user.hdf5.kind", "dataset"},
                               {"user.a", std::string(65'536, 'a')},
                               {"user.b", std::string(65'537, 'b')}};
  const Mounted mount(tree);
  const std::string path = mount.path("big");
  std::string value(70'000, '\0');
  EXPECT_EQ(::getxattr(path.c_str(), "user.hdf5.kind", value.data(), value.size()), 7);
  EXPECT_EQ(::getxattr(path.c_str(), "user.hdf5.kind", nullptr, 0), 7);
  EXPECT_EQ(::getxattr(path.c_str(), "user.hdf5.kind", value.data(), 3), -1);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(::getxattr(path.c_str(), "user.a", value.data(), value.size()), 65'536);
  EXPECT_EQ(::getxattr(path.c_str(), "user.b", value.data(), value.size()), -1);
  EXPECT_EQ(errno, E2BIG);
  EXPECT_EQ(::getxattr(path.c_str(), "user.none", value.data(), value.size()), -1);
  EXPECT_EQ(errno, ENODATA);
  const int calls = tree->getxattr_calls;
  for (const char* name : {"security.selinux", "system.posix_acl_access", "trusted.x", "other"}) {
    EXPECT_EQ(::getxattr(path.c_str(), name, value.data(), value.size()), -1) << name;
    EXPECT_EQ(errno, ENOTSUP) << name;
  }
  EXPECT_EQ(tree->getxattr_calls, calls);
}

// As getfattr asks: the size, then the value.
TEST_F(SessionTest, AValueAskedForBySizeFirstIsMadeOnce) {
  tree->node(big_id).xattrs = {{"user.a", "one"}, {"user.b", "three"}, {"user.none", ""}};
  const Mounted mount(tree);
  const std::string path = mount.path("big");
  char value[100];
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(::listxattr(path.c_str(), nullptr, 0), 24);
    ASSERT_EQ(::listxattr(path.c_str(), value, sizeof value), 24);
    EXPECT_EQ(tree->listxattr_calls, i);
    ASSERT_EQ(::getxattr(path.c_str(), "user.a", nullptr, 0), 3);
    ASSERT_EQ(::getxattr(path.c_str(), "user.b", nullptr, 0), 5);
    ASSERT_EQ(::getxattr(path.c_str(), "user.b", value, sizeof value), 5);
    EXPECT_EQ(std::string(value, 5), "three");
    ASSERT_EQ(::getxattr(path.c_str(), "user.a", value, sizeof value), 3);
    EXPECT_EQ(std::string(value, 3), "one");
    EXPECT_EQ(tree->getxattr_calls, 2 * i);
  }
  // A value asked for again is made again: it may have changed.
  {
    const std::lock_guard lock(tree->xattrs_mutex);
    tree->node(big_id).xattrs["user.a"] = "other";
  }
  EXPECT_EQ(::getxattr(path.c_str(), "user.a", value, sizeof value), 5);
  EXPECT_EQ(::getxattr(path.c_str(), "user.none", nullptr, 0), 0);
  EXPECT_EQ(::getxattr(path.c_str(), "user.none", value, sizeof value), 0);
}

TEST(XattrAnswers, AreGivenOnceToTheSameNameAndNotLate) {
  fuse::XattrAnswers answers;
  const fuse::XattrAnswers::Clock::time_point now{};
  answers.keep(7, "user.a", "value", now);
  EXPECT_EQ(answers.take(8, "user.a", now), std::nullopt);
  EXPECT_EQ(answers.take(7, "user.b", now), std::nullopt);
  EXPECT_EQ(answers.take(7, "user.a", now + fuse::XattrAnswers::kLifetime), "value");
  EXPECT_EQ(answers.take(7, "user.a", now), std::nullopt);
  answers.keep(7, "user.a", "value", now);
  EXPECT_EQ(answers.take(7, "user.a", now + 2 * fuse::XattrAnswers::kLifetime), std::nullopt);
  // Of many that are kept at the same time some are replaced, and none is given to another.
  int kept = 0;
  for (int i = 0; i < 1000; ++i) answers.keep(1, fmt::format("{}", i), fmt::format("of {}", i), now);
  for (int i = 0; i < 1000; ++i)
    if (const auto answer = answers.take(1, fmt::format("{}", i), now)) {
      EXPECT_EQ(*answer, fmt::format("of {}", i));
      ++kept;
    }
  EXPECT_GT(kept, 0);
  EXPECT_LE(kept, static_cast<int>(fuse::XattrAnswers::kSlots));
}

TEST_F(SessionTest, AListOfNamesIsCutToWhatTheKernelTakes) {
  for (int i = 0; i < 2000; ++i) tree->node(big_id).xattrs[fmt::format("user.{:0100}", i)] = "x";
  tree->node(big_id).xattrs["user." + std::string(300, 'n')] = "x";
  tree->node(big_id).xattrs[""] = "x";
  const Mounted mount(tree);
  std::string list(65'536, '\0');
  const ssize_t length = ::listxattr(mount.path("big").c_str(), list.data(), list.size());
  ASSERT_GT(length, 60'000);
  const std::string first = "user.hdf5.more_attributes";
  EXPECT_EQ(list.substr(0, first.size() + 1), first + '\0');
  EXPECT_EQ((static_cast<std::size_t>(length) - first.size() - 1) % 106, 0);
}

}  // namespace
}  // namespace h5mount::test
