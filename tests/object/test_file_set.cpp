// The file that a name resolves to, and the names that are rejected. All files are copies of one committed
// file; only their paths matter.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "h5mount/base/unique_fd.h"
#include "h5mount/object/file_set.h"
#include "support/corpus.h"

namespace h5mount::test {
namespace {

namespace fs = std::filesystem;

// Emulators of other processors do not have it. Names are then resolved without following symlinks.
bool has_openat2() {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  const UniqueFd opened(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how)));
  return static_cast<bool>(opened);
}
#define H5MOUNT_NEEDS_OPENAT2() \
  if (!has_openat2()) GTEST_SKIP() << "no openat2: names through symlinks are refused"

class FileSetTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "h5mount-file-set-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = fs::canonical(name);
  }
  void TearDown() override { fs::remove_all(place_); }

  std::string file(const std::string& name) const {
    fs::create_directories((place_ / name).parent_path());
    fs::copy_file(source_root() / "tests/data/weather.h5", place_ / name);
    return place_ / name;
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_directories((place_ / name).parent_path());
    fs::create_symlink(target, place_ / name);
  }
  std::shared_ptr<object::FileSet> open(const std::string& main, const object::ExternalAccess& access) const {
    auto set = object::FileSet::open(place_ / main, access, {});
    EXPECT_TRUE(set) << (set ? "" : set.error().text());
    return set ? *set : nullptr;
  }
  // The path that the name resolves to, relative to the test's directory; or the error.
  std::string found(object::FileSet& set, const object::OpenedFilePtr& from, const std::string& name,
                    object::NameUse use = object::NameUse::Link) const {
    const auto opened = set.open_hdf5(from, name, use);
    if (!opened) return std::string(error_code_name(opened.error().code()));
    return fs::canonical((*opened)->path).lexically_relative(place_);
  }
  object::ExternalAccess listed(std::vector<std::string> names) const {
    object::ExternalAccess access(object::ExternalPolicy::Listed);
    for (const std::string& name : names) access.directories.push_back(place_ / name);
    return access;
  }

  fs::path place_;
};

const std::string kDenied(error_code_name(ErrorCode::AccessDenied));
const std::string kMissing(error_code_name(ErrorCode::NotFound));

TEST_F(FileSetTest, BeneathTheOwnDirectoryOnly) {
  H5MOUNT_NEEDS_OPENAT2();
  file("d/m.h5"), file("d/sub/a.h5"), file("out/b.h5");
  link("../out/b.h5", "d/leaves.h5");
  link("sub/a.h5", "d/stays.h5");
  const auto set = open("d/m.h5", object::ExternalPolicy::Beneath);
  EXPECT_EQ(found(*set, set->main(), "sub/a.h5"), "d/sub/a.h5");
  EXPECT_EQ(found(*set, set->main(), "stays.h5"), "d/sub/a.h5");
  EXPECT_EQ(found(*set, set->main(), (place_ / "d/sub/a.h5").string()), "d/sub/a.h5");
  EXPECT_EQ(found(*set, set->main(), "/elsewhere/m.h5"), "d/m.h5");
  EXPECT_EQ(found(*set, set->main(), "none.h5"), kMissing);
  EXPECT_EQ(found(*set, set->main(), "../out/b.h5"), kDenied);
  EXPECT_EQ(found(*set, set->main(), (place_ / "out/b.h5").string()), kDenied);
  EXPECT_EQ(found(*set, set->main(), "leaves.h5"), kDenied);
}

TEST_F(FileSetTest, NoneAndAny) {
  file("d/m.h5"), file("d/a.h5"), file("out/b.h5");
  link("../out/b.h5", "d/leaves.h5");
  const auto none = open("d/m.h5", object::ExternalPolicy::None);
  EXPECT_EQ(found(*none, none->main(), "a.h5"), kDenied);
  const auto any = open("d/m.h5", object::ExternalPolicy::Any);
  EXPECT_EQ(found(*any, any->main(), "a.h5"), "d/a.h5");
  EXPECT_EQ(found(*any, any->main(), "leaves.h5"), "out/b.h5");
  EXPECT_EQ(found(*any, any->main(), "../out/./b.h5"), "out/b.h5");
  EXPECT_EQ(found(*any, any->main(), "none.h5"), kMissing);
}

TEST_F(FileSetTest, ListedDirectoriesAreAllowedAndSearched) {
  file("d/m.h5"), file("d/beside.h5"), file("a/x.h5"), file("b/sub/y.h5"), file("c/z.h5");
  link("../a", "d/raw");
  const auto set = open("d/m.h5", listed({"a", "b"}));
  EXPECT_EQ(found(*set, set->main(), "../a/x.h5"), "a/x.h5");
  EXPECT_EQ(found(*set, set->main(), (place_ / "b/sub/y.h5").string()), "b/sub/y.h5");
  EXPECT_EQ(found(*set, set->main(), "sub/y.h5"), "b/sub/y.h5");
  EXPECT_EQ(found(*set, set->main(), "../c/z.h5"), kDenied);
  EXPECT_EQ(found(*set, set->main(), "beside.h5"), kDenied);
  object::ExternalAccess both = listed({"a"});
  both.policy = object::ExternalPolicy::Beneath;
  const auto wider = open("d/m.h5", both);
  EXPECT_EQ(found(*wider, wider->main(), "beside.h5"), "d/beside.h5");
  EXPECT_EQ(found(*wider, wider->main(), "raw/x.h5"), "a/x.h5");
}

TEST_F(FileSetTest, BesideTheSymlinkThenBesideItsTarget) {
  file("real/m.h5"), file("real/only-there.h5"), file("real/both.h5"), file("link/both.h5");
  link("../real/m.h5", "link/l.h5");
  const auto set = open("link/l.h5", object::ExternalPolicy::Beneath);
  for (const object::NameUse use : {object::NameUse::Link, object::NameUse::VirtualSource}) {
    EXPECT_EQ(found(*set, set->main(), "only-there.h5", use), "real/only-there.h5");
    EXPECT_EQ(found(*set, set->main(), "both.h5", use), "link/both.h5");
  }
  EXPECT_TRUE(set->open_raw(set->main(), "only-there.h5"));
}

TEST_F(FileSetTest, NamesResolveFromTheDirectoryOfTheOpenedPath) {
  H5MOUNT_NEEDS_OPENAT2();
  file("m.h5"), file("sub/ok.h5"), file("sub/sibling.h5"), file("sibling.h5");
  link("sub/ok.h5", "other.h5");
  const auto set = open("m.h5", object::ExternalPolicy::Beneath);
  const auto by_symlink = set->open_hdf5(set->main(), "other.h5", object::NameUse::Link);
  const auto by_name = set->open_hdf5(set->main(), "sub/ok.h5", object::NameUse::Link);
  ASSERT_TRUE(by_symlink && by_name);
  EXPECT_EQ(found(*set, *by_symlink, "sibling.h5"), "sibling.h5");
  EXPECT_EQ(found(*set, *by_name, "sibling.h5"), "sub/sibling.h5");
  EXPECT_EQ(*set->open_hdf5(set->main(), "./sub/../sub/ok.h5", object::NameUse::Link), *by_name);
}

TEST_F(FileSetTest, PrefixesComeFirstWhereTheyAreAllowed) {
  file("d/m.h5"), file("d/a.h5"), file("d/p/a.h5"), file("d/q/b.h5"), file("out/c.h5");
  object::ExternalAccess access;
  access.link_prefixes =
      (place_ / "out").string() + ":" + (place_ / "d/p").string() + ":" + (place_ / "d/q").string();
  access.virtual_prefixes = "${ORIGIN}/p";
  const auto set = open("d/m.h5", access);
  EXPECT_EQ(found(*set, set->main(), "a.h5"), "d/p/a.h5");
  EXPECT_EQ(found(*set, set->main(), "/gone/b.h5"), "d/q/b.h5");
  EXPECT_EQ(found(*set, set->main(), "c.h5"), kMissing);
  EXPECT_EQ(found(*set, set->main(), "a.h5", object::NameUse::VirtualSource), "d/p/a.h5");
  EXPECT_EQ(found(*set, set->main(), "b.h5", object::NameUse::VirtualSource), kMissing);
}

TEST_F(FileSetTest, ForOthersNoFileHasFewerReadersThanTheOneThatShowsIt) {
  ::chmod(file("m.h5").c_str(), 0644);
  ::chmod(file("open.h5").c_str(), 0444);
  ::chmod(file("secret.h5").c_str(), 0600);
  ::chmod(file("closed/inside.h5").c_str(), 0644);
  ::chmod((place_ / "closed").c_str(), 0700);
  object::ExternalAccess access;
  access.for_others = true;
  const auto set = open("m.h5", access);
  EXPECT_EQ(found(*set, set->main(), "open.h5", object::NameUse::VirtualSource), "open.h5");
  EXPECT_EQ(found(*set, set->main(), "secret.h5", object::NameUse::VirtualSource), kDenied);
  EXPECT_EQ(found(*set, set->main(), "closed/inside.h5", object::NameUse::VirtualSource), kDenied);
  EXPECT_TRUE(set->open_raw(set->main(), "open.h5"));
  EXPECT_FALSE(set->open_raw(set->main(), "secret.h5"));
  const auto linked = set->open_hdf5(set->main(), "closed/inside.h5", object::NameUse::Link);
  ASSERT_TRUE(linked);
  EXPECT_EQ((*linked)->attributes.mode & 0444U, 0400U);
}

TEST(Readers, OwnerAndGroupCount) {
  const object::FileAttributes shown{.uid = 1, .gid = 2, .mode = 0640};
  EXPECT_TRUE(object::readable_by_all_readers(shown, {.uid = 1, .gid = 2, .mode = 0440}));
  EXPECT_TRUE(object::readable_by_all_readers(shown, {.uid = 9, .gid = 9, .mode = 0444}));
  EXPECT_FALSE(object::readable_by_all_readers(shown, {.uid = 1, .gid = 2, .mode = 0400}));
  EXPECT_FALSE(object::readable_by_all_readers(shown, {.uid = 9, .gid = 2, .mode = 0440}));
  EXPECT_FALSE(object::readable_by_all_readers(shown, {.uid = 1, .gid = 9, .mode = 0440}));
}

}  // namespace
}  // namespace h5mount::test
