// A file's stamp tells writes apart from changes of its mode, owner, links, name and attributes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "h5mount/io/byte_source.h"

namespace h5mount::io {
namespace {

namespace fs = std::filesystem;

class Stamps : public testing::Test {
 protected:
  void SetUp() override {
    std::string place = (fs::temp_directory_path() / "h5mount-stamps-XXXXXX").string();
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    directory_ = place;
    path_ = directory_ / "file";
    std::ofstream(path_) << "0123456789";
    auto source = open_file_source(path_);
    ASSERT_TRUE(source);
    source_ = *source;
    before_ = stamp();
  }
  void TearDown() override { fs::remove_all(directory_); }

  SourceStamp stamp() {
    const auto stamp = settled_stamp(source_->state());
    EXPECT_TRUE(stamp);
    return stamp.value_or(SourceStamp{});
  }
  // The name is asked for at intervals.
  bool becomes_replaced() {
    for (int i = 0; i < 1000 && !stamp().replaced; ++i) next_tick();
    return stamp().replaced;
  }
  // Waits until a later ctime is certain to differ.
  static void next_tick() { std::this_thread::sleep_for(std::chrono::milliseconds(25)); }
  bool same_after(const std::function<void()>& change) {
    next_tick();
    change();
    const SourceStamp now = stamp();
    EXPECT_NE(now, before_) << "the change does not show at all";
    const bool same = same_bytes(before_, now);
    before_ = now;
    return same;
  }

  fs::path directory_, path_;
  std::shared_ptr<ByteSource> source_;
  SourceStamp before_;
};

TEST_F(Stamps, ChangesThatLeaveTheBytesAreNotWrites) {
  EXPECT_TRUE(same_after([&] { ASSERT_EQ(::chmod(path_.c_str(), 0600), 0); }));
  EXPECT_TRUE(same_after([&] { ASSERT_EQ(::link(path_.c_str(), (directory_ / "second").c_str()), 0); }));
  EXPECT_TRUE(same_after([&] { ASSERT_EQ(::unlink((directory_ / "second").c_str()), 0); }));
  EXPECT_TRUE(same_after([&] { fs::rename(path_, directory_ / "elsewhere"); }));
  EXPECT_FALSE(stamp().replaced);
  EXPECT_FALSE(source_->state().name_taken()) << "nobody has the name";
  EXPECT_TRUE(same_after([&] { fs::rename(directory_ / "elsewhere", path_); }));
}

// Nothing of the opened inode changes when another file gets the name that became free.
TEST_F(Stamps, ANewFileUnderAFreedNameReplacesIt) {
  fs::remove(path_);
  EXPECT_FALSE(stamp().replaced) << "the name leads nowhere";
  next_tick();
  EXPECT_FALSE(stamp().replaced);
  std::ofstream(path_) << "9876543210";
  EXPECT_TRUE(becomes_replaced());
}

TEST_F(Stamps, ASymlinkThatLeadsElsewhereReplacesIt) {
  const auto link = directory_ / "link", other = directory_ / "other";
  fs::create_symlink(path_, link);
  const auto opened = open_file_source(link);
  ASSERT_TRUE(opened);
  source_ = *opened;
  EXPECT_FALSE(stamp().replaced);
  std::ofstream(other) << "9876543210";
  fs::remove(link);
  fs::create_symlink(other, link);
  EXPECT_TRUE(becomes_replaced());
}

// A member's own name counts, and a name that was relative when the file was opened stays that file's.
TEST_F(Stamps, OneMemberThatIsReplacedReplacesTheSet) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  std::ofstream("second") << "abcdefghij";
  const auto member = open_file_source("second");
  fs::current_path("/");
  ASSERT_TRUE(member);
  source_ = make_extent_source({{0, 10, source_}, {10, 10, *member}}, "set");
  fs::remove(directory_ / "second");
  EXPECT_FALSE(stamp().replaced);
  std::ofstream(directory_ / "second") << "jihgfedcba";
  EXPECT_TRUE(becomes_replaced());
  fs::current_path(before);
}

// A descriptor's number is another file's once it is closed.
TEST_F(Stamps, ADescriptorIsNoName) {
  const int fd = ::open(path_.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  const auto opened = open_file_source("/dev/fd/" + std::to_string(fd));
  ASSERT_TRUE(opened);
  source_ = *opened;
  std::ofstream(directory_ / "other") << "9876543210";
  const int other = ::open((directory_ / "other").c_str(), O_RDONLY);
  ASSERT_EQ(::dup2(other, fd), fd);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_FALSE(stamp().replaced);
  EXPECT_FALSE(source_->state().name_taken());
  ::close(fd), ::close(other);
}

TEST_F(Stamps, SettingAnAttributeIsNotAWrite) {
  if (::setxattr(path_.c_str(), "user.test", "1", 1, 0) != 0)
    GTEST_SKIP() << "no user xattrs on this file system";
  before_ = stamp();
  EXPECT_TRUE(same_after([&] { ASSERT_EQ(::setxattr(path_.c_str(), "user.test", "2", 1, 0), 0); }));
  EXPECT_TRUE(same_after([&] { ASSERT_EQ(::removexattr(path_.c_str(), "user.test"), 0); }));
}

TEST_F(Stamps, AWriteIsDetectedAlthoughItsTimeIsReset) {
  struct stat st = {};
  ASSERT_EQ(::stat(path_.c_str(), &st), 0);
  EXPECT_FALSE(same_after([&] {
    std::fstream(path_, std::ios::in | std::ios::out) << "9876543210";
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }));
}

TEST_F(Stamps, AWriteToAMemberChangesTheSet) {
  const auto second = directory_ / "second";
  std::ofstream(second) << "abcdefghij";
  const auto member = open_file_source(second);
  ASSERT_TRUE(member);
  source_ = make_sub_range_source(make_extent_source({{0, 10, source_}, {10, 10, *member}}, "set"), 2);
  before_ = stamp();
  struct stat st = {};
  ASSERT_EQ(::stat(second.c_str(), &st), 0);
  EXPECT_TRUE(same_after([&] { ASSERT_EQ(::chmod(second.c_str(), 0600), 0); }));
  EXPECT_FALSE(same_after([&] {
    std::fstream(second, std::ios::in | std::ios::out) << "jihgfedcba";
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, second.c_str(), times, 0), 0);
  }));
  EXPECT_FALSE(source_->state().name_taken());
  std::ofstream(directory_ / "new") << "abcdefghij";
  fs::rename(directory_ / "new", second);
  EXPECT_TRUE(source_->state().name_taken());
  EXPECT_TRUE(stamp().replaced);
}

}  // namespace
}  // namespace h5mount::io
