// The session on a real kernel mount, over a tree in memory.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <fstream>
#include <set>

#include "h5mount/io/byte_source.h"
#include "session_fixture.h"

namespace h5mount::test {
namespace {

std::shared_ptr<io::ByteSource> memory_source(std::string_view text) {
  const ByteSpan bytes = as_bytes(text);
  return io::make_memory_source({bytes.begin(), bytes.end()});
}

TEST_F(SessionTest, ReadsWhatTheTreeHolds) {
  const Mounted mount(tree);
  ASSERT_EQ(mount.trouble(), "");
  EXPECT_EQ(slurp(mount.path("small")), "hello\n");
  EXPECT_EQ(slurp(mount.path("big")), big);
  EXPECT_EQ(slurp(mount.path("dir/inner")), "in");
  EXPECT_EQ(slurp(mount.path("dir/up")), "hello\n");
}

TEST_F(SessionTest, StatIsTheTrees) {
  tree->uid = 12;
  tree->gid = 34;
  const Mounted mount(tree);
  struct stat seen = {};
  ASSERT_EQ(::stat(mount.path("big").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_size, 3'000'000);
  EXPECT_EQ(seen.st_ino, big_id);
  EXPECT_EQ(seen.st_mode, S_IFREG | 0444U);
  EXPECT_EQ(seen.st_mtim.tv_sec, 1'700'000'000);
  EXPECT_EQ(seen.st_uid, 12U);
  EXPECT_EQ(seen.st_gid, 34U);
  EXPECT_EQ(seen.st_blocks, 5860);
}

TEST_F(SessionTest, IncompleteStatsAreAskedForAgainInFull) {
  tree->node(big_id).complete = false;
  const Mounted mount(tree);
  const int before = tree->full_stats;
  struct stat seen = {};
  ASSERT_EQ(::stat(mount.path("big").c_str(), &seen), 0);
  EXPECT_GT(tree->full_stats, before);
  const int after = tree->full_stats;
  ASSERT_EQ(::stat(mount.path("small").c_str(), &seen), 0);
  ASSERT_EQ(::stat(mount.path("small").c_str(), &seen), 0);
  EXPECT_EQ(tree->full_stats, after);
}

TEST_F(SessionTest, AnOpenFileIsNotMeasured) {
  tree->node(big_id).complete = false;
  const Mounted mount(tree);
  const int fd = ::open(mount.path("big").c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  const int before = tree->full_stats;
  struct stat seen = {};
  ASSERT_EQ(::fstat(fd, &seen), 0);
  EXPECT_EQ(tree->full_stats, before);
  ::close(fd);
}

TEST_F(SessionTest, ListsAndKeepsListings) {
  const Mounted mount(tree);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(mount.path("dir"))) {
    names.insert(entry.path().filename());
  }
  EXPECT_EQ(names, (std::set<std::string>{"inner", "up"}));
}

TEST_F(SessionTest, ALongListingComesWholeInOrderAndWithTypes) {
  constexpr int kMany = 5000;
  for (int i = 0; i < kMany; ++i) {
    tree->add(directory, i % 2 ? tree::NodeType::File : tree::NodeType::Directory, fmt::format("{:0200}", i));
  }
  const Mounted mount(tree);
  DIR* const stream = ::opendir(mount.path("dir").c_str());
  ASSERT_NE(stream, nullptr);
  int count = 0;
  while (const dirent* entry = ::readdir(stream)) {
    if (std::string_view(entry->d_name).size() != 200) continue;
    EXPECT_EQ(entry->d_name, fmt::format("{:0200}", count));
    EXPECT_EQ(entry->d_type, count % 2 ? DT_REG : DT_DIR);
    ++count;
  }
  ::closedir(stream);
  EXPECT_EQ(count, kMany);
}

TEST_F(SessionTest, SeekdirAndRewinddirWork) {
  for (int i = 0; i < 500; ++i) tree->add(directory, tree::NodeType::File, fmt::format("f{}", i));
  const Mounted mount(tree);
  DIR* const stream = ::opendir(mount.path("dir").c_str());
  for (int i = 0; i < 100; ++i) ::readdir(stream);
  const long place = ::telldir(stream);
  const std::string next = ::readdir(stream)->d_name;
  for (int i = 0; i < 100; ++i) ::readdir(stream);
  ::seekdir(stream, place);
  EXPECT_EQ(std::string(::readdir(stream)->d_name), next);
  ::rewinddir(stream);
  int count = 0;
  while (::readdir(stream) != nullptr) ++count;
  EXPECT_EQ(count, 504);
  ::closedir(stream);
}

TEST_F(SessionTest, AnEntryThatCannotBeLookedUpIsStillListed) {
  tree->add(directory, tree::NodeType::File, "unreadable");
  for (const ErrorCode why : {ErrorCode::InvalidValue, ErrorCode::Io}) {
    tree->unreadable = Error(why, "its header");
    tree->reports = 0;
    const Mounted mount(tree);
    bool seen = false;
    for (const auto& entry : std::filesystem::directory_iterator(mount.path("dir"))) {
      struct stat ignored = {};
      ::lstat(entry.path().c_str(), &ignored);  // causes a readdirplus
      seen = seen || entry.path().filename() == "unreadable";
    }
    EXPECT_TRUE(seen);
    // Of what fails for a moment a lookup of its own tells.
    EXPECT_EQ(tree->reports > 0, why == ErrorCode::InvalidValue);
  }
}

TEST_F(SessionTest, ADamagedDirectoryIsAnErrorOfItsOwn) {
  tree->add(tree::kRootNode, tree::NodeType::Directory, "damaged");
  const Mounted mount(tree);
  DIR* const stream = ::opendir(mount.path("damaged").c_str());
  ASSERT_NE(stream, nullptr);
  errno = 0;
  EXPECT_EQ(::readdir(stream), nullptr);
  EXPECT_EQ(errno, EIO);
  ::closedir(stream);
  EXPECT_EQ(slurp(mount.path("small")), "hello\n");
}

TEST_F(SessionTest, ReferencesComeBack) {
  {
    Mounted mount(tree);
    const std::string everything = "ls -lR " + mount.path().string() + " >/dev/null";
    ASSERT_EQ(std::system(everything.c_str()), 0);
    EXPECT_GT(tree->references(), 0);
    ASSERT_EQ(std::system("echo 2 > /proc/sys/vm/drop_caches"), 0);
    for (int i = 0; i < 50 && tree->references() > 1; ++i) ::usleep(20'000);
    EXPECT_LE(tree->references(), 1);
  }
  EXPECT_GE(tree->references(), 0);
}

// The page after the last one read was already filled when the directory was closed.
TEST_F(SessionTest, ReferencesOfAListingThatWasNotReadToItsEndComeBack) {
  for (int i = 0; i < 3000; ++i) tree->add(directory, tree::NodeType::File, fmt::format("{:0100}", i));
  const Mounted mount(tree);
  DIR* const stream = ::opendir(mount.path("dir").c_str());
  ASSERT_NE(stream, nullptr);
  struct stat seen = {};
  for (int i = 0; i < 1000; ++i) {
    const dirent* const entry = ::readdir(stream);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(::fstatat(::dirfd(stream), entry->d_name, &seen, 0), 0);
  }
  ::closedir(stream);
  EXPECT_GT(tree->references(), 1000);
  ASSERT_EQ(std::system("echo 2 > /proc/sys/vm/drop_caches"), 0);
  for (int i = 0; i < 50 && tree->references() > 1; ++i) ::usleep(20'000);
  EXPECT_LE(tree->references(), 1);
}

TEST_F(SessionTest, PagesHandedOnAreReadWithoutAsking) {
  std::atomic<int> asked = 0;
  tree->on_read = [&asked](tree::NodeId, std::uint64_t, std::uint64_t, dataset::Pieces&) -> Status {
    ++asked;
    return fail(io_error(EIO, "nobody should ask"));
  };
  Mounted mount(tree);
  const std::shared_ptr<tree::KernelPages> kernel = tree->kernel();
  ASSERT_NE(kernel, nullptr);
  const int fd = ::open(mount.path("big").c_str(), O_RDONLY);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  const std::string whole(4096, 'x'), half(2048, 'y');
  const auto source = memory_source(half);
  dataset::Pieces one, two;
  one.add(as_bytes(whole), nullptr);
  EXPECT_TRUE(two.add_mapped(*source, 0, half.size()));
  two.add(as_bytes(half), nullptr);
  EXPECT_TRUE(kernel->store(big_id, 4096, one));
  EXPECT_TRUE(kernel->store(big_id, 12288, two));
  EXPECT_FALSE(kernel->store(123'456, 4096, one));  // a node that the kernel does not know
  char page[4096];
  EXPECT_EQ(::pread(fd, page, sizeof page, 4096), 4096);
  EXPECT_EQ(std::string(page, sizeof page), whole);
  EXPECT_EQ(::pread(fd, page, sizeof page, 12288), 4096);
  EXPECT_EQ(std::string(page, sizeof page), half + half);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_GT(asked, 0);
  ::close(fd);
  mount.end();
  EXPECT_FALSE(kernel->store(big_id, 4096, one));
}

TEST_F(SessionTest, SeeksDataAndHoles) {
  const Mounted mount(tree);
  const int fd = ::open(mount.path("big").c_str(), O_RDONLY);
  EXPECT_EQ(::lseek(fd, 5, SEEK_DATA), 5);
  EXPECT_EQ(::lseek(fd, 5, SEEK_HOLE), 1'500'000);
  EXPECT_EQ(::lseek(fd, 2'000'000, SEEK_DATA), -1);
  EXPECT_EQ(errno, ENXIO);
  EXPECT_EQ(::lseek(fd, 3'000'000, SEEK_HOLE), -1);
  EXPECT_EQ(errno, ENXIO);
  ::close(fd);
}

TEST_F(SessionTest, StatfsTellsTheFile) {
  const Mounted mount(tree);
  struct statvfs seen = {};
  ASSERT_EQ(::statvfs(mount.path().c_str(), &seen), 0);
  EXPECT_EQ(seen.f_blocks * seen.f_frsize, 8192U);
  EXPECT_EQ(seen.f_bavail, 0U);
  EXPECT_EQ(seen.f_namemax, 255U);
  EXPECT_NE(seen.f_flag & ST_RDONLY, 0U);
  EXPECT_NE(seen.f_flag & ST_NOSUID, 0U);
  EXPECT_NE(seen.f_flag & ST_NODEV, 0U);
}

TEST_F(SessionTest, ALinkTooLongIsAnError) {
  tree->add(tree::kRootNode, tree::NodeType::Symlink, "long", std::string(4096, 'x'));
  tree->add(tree::kRootNode, tree::NodeType::Symlink, "just", std::string(4095, 'x'));
  const Mounted mount(tree);
  std::string buffer(5000, '\0');
  EXPECT_EQ(::readlink(mount.path("long").c_str(), buffer.data(), buffer.size()), -1);
  EXPECT_EQ(errno, ENAMETOOLONG);
  EXPECT_EQ(::readlink(mount.path("just").c_str(), buffer.data(), buffer.size()), 4095);
}

TEST_F(SessionTest, EveryAttemptToWriteIsErofs) {
  const Mounted mount(tree);
  const std::string file = mount.path("small"), other = mount.path("new");
  const auto refused = [](int result) { return result == -1 && errno == EROFS; };
  EXPECT_TRUE(refused(::open(file.c_str(), O_WRONLY)));
  EXPECT_TRUE(refused(::open(file.c_str(), O_RDWR)));
  EXPECT_TRUE(refused(::open(other.c_str(), O_CREAT | O_WRONLY, 0644)));
  EXPECT_TRUE(refused(::open(file.c_str(), O_RDONLY | O_TRUNC)));
  EXPECT_TRUE(refused(::truncate(file.c_str(), 0)));
  EXPECT_TRUE(refused(::mkdir(other.c_str(), 0755)));
  EXPECT_TRUE(refused(::unlink(file.c_str())));
  EXPECT_TRUE(refused(::rmdir(mount.path("dir").c_str())));
  EXPECT_TRUE(refused(::rename(file.c_str(), other.c_str())));
  EXPECT_TRUE(refused(::link(file.c_str(), other.c_str())));
  EXPECT_TRUE(refused(::symlink("x", other.c_str())));
  EXPECT_TRUE(refused(::mknod(other.c_str(), S_IFIFO | 0600, 0)));
  EXPECT_TRUE(refused(::chmod(file.c_str(), 0600)));
  EXPECT_TRUE(refused(::chown(file.c_str(), 1, 1)));
  EXPECT_TRUE(refused(::utimensat(AT_FDCWD, file.c_str(), nullptr, 0)));
  EXPECT_TRUE(refused(::setxattr(file.c_str(), "user.x", "y", 1, 0)));
  EXPECT_TRUE(refused(::removexattr(file.c_str(), "user.x")));
  EXPECT_TRUE(refused(::access(file.c_str(), W_OK)));
}

TEST_F(SessionTest, ErrorsBecomeErrnos) {
  std::atomic<ErrorCode> code = ErrorCode::ChecksumMismatch;
  tree->on_read = [&code](tree::NodeId, std::uint64_t, std::uint64_t, dataset::Pieces&) -> Status {
    return fail(Error(code, "told to fail"));
  };
  const Mounted mount(tree);
  const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
  ASSERT_GE(fd, 0);
  alignas(4096) static char page[4096];
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EIO);
  code = ErrorCode::UnsupportedFeature;
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  code = ErrorCode::Stale;
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, ESTALE);
  ::close(fd);
}

TEST_F(SessionTest, ExceptionsBecomeErrnosAndTheMountLives) {
  std::atomic<bool> memory = true;
  tree->on_read = [&](tree::NodeId id, std::uint64_t offset, std::uint64_t length,
                      dataset::Pieces& out) -> Status {
    if (id != big_id) return tree->read_content(id, offset, length, out);
    if (memory) throw std::bad_alloc();
    throw std::runtime_error("our own bug");
  };
  const Mounted mount(tree);
  alignas(4096) static char page[4096];
  const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, ENOMEM);
  memory = false;
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EIO);
  ::close(fd);
  EXPECT_EQ(slurp(mount.path("small")), "hello\n");
}

TEST_F(SessionTest, TooLargeToOpenIsEfbig) {
  tree->node(big_id).claimed_size = 1ULL << 63;
  const Mounted mount(tree);
  EXPECT_EQ(::open(mount.path("big").c_str(), O_RDONLY), -1);
  EXPECT_EQ(errno, EFBIG);
  struct stat seen = {};
  ASSERT_EQ(::stat(mount.path("big").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_size, 0);
}

TEST_F(SessionTest, MoreIsNotGivenThanWasAskedFor) {
  static const std::string much(2 << 20, 'm');
  tree->on_read = [](tree::NodeId, std::uint64_t, std::uint64_t, dataset::Pieces& out) -> Status {
    out.add(as_bytes(much), nullptr);
    return {};
  };
  const Mounted mount(tree);
  alignas(4096) static char page[4096];
  const int fd = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
  EXPECT_EQ(::pread(fd, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EIO);
  ::close(fd);
}

TEST_F(SessionTest, ManyPiecesMakeOneReply) {
  const auto source = memory_source(big);
  tree->on_read = [&](tree::NodeId, std::uint64_t offset, std::uint64_t length,
                      dataset::Pieces& out) -> Status {
    for (std::uint64_t i = 0; i < length && offset + i < big.size(); i += 8) {
      const std::string_view bytes =
          std::string_view(big).substr(offset + i, std::min<std::uint64_t>(8, length - i));
      if (i % 3 == 0)
        EXPECT_TRUE(out.add_mapped(*source, offset + i, bytes.size()));
      else
        out.add(as_bytes(bytes), nullptr);
    }
    return {};
  };
  const Mounted mount(tree);
  EXPECT_EQ(slurp(mount.path("big")), big);
}

// Pages mapped from a truncated file: EFAULT for the kernel, SIGBUS for this process if it touched them.
TEST_F(SessionTest, AFileCutShortBehindItsMappingIsEio) {
  const int fd = ::memfd_create("source", 0);
  ASSERT_EQ(::ftruncate(fd, 1 << 20), 0);
  const auto source = io::make_file_source(fd, "source");
  ASSERT_TRUE(source);
  ASSERT_EQ(::ftruncate(fd, 0), 0);
  std::atomic<std::size_t> piece = 1 << 20;
  tree->on_read = [&](tree::NodeId id, std::uint64_t offset, std::uint64_t length,
                      dataset::Pieces& out) -> Status {
    if (id != big_id) return tree->read_content(id, offset, length, out);
    if (offset >= 1 << 20) return {};
    length = std::min<std::uint64_t>(length, (1 << 20) - offset);
    for (std::uint64_t i = 0; i < length; i += piece)
      EXPECT_TRUE(out.add_mapped(**source, offset + i, std::min<std::uint64_t>(piece, length - i)));
    return {};
  };
  const Mounted mount(tree);
  alignas(4096) static char page[65536];
  const int file = ::open(mount.path("big").c_str(), O_RDONLY | O_DIRECT);
  EXPECT_EQ(::pread(file, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EIO);
  piece = 16;
  EXPECT_EQ(::pread(file, page, sizeof page, 0), -1);
  EXPECT_EQ(errno, EIO);
  ::close(file);
  EXPECT_EQ(slurp(mount.path("small")), "hello\n");
}

TEST_F(SessionTest, MissingNamesAreRemembered) {
  const Mounted mount(tree);
  struct stat seen = {};
  EXPECT_EQ(::stat(mount.path("none").c_str(), &seen), -1);
  EXPECT_EQ(errno, ENOENT);
  const int before = tree->lookups;
  EXPECT_EQ(::stat(mount.path("none").c_str(), &seen), -1);
  EXPECT_EQ(tree->lookups, before);
}

TEST_F(SessionTest, ReadAheadIsRaisedWhereItMayBe) {
  const Mounted mount(tree);
  struct stat seen = {};
  ASSERT_EQ(::stat(mount.path().c_str(), &seen), 0);
  const std::string path =
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(seen.st_dev), minor(seen.st_dev));
  if (::access(path.c_str(), W_OK) != 0) GTEST_SKIP() << "/sys cannot be written here";
  EXPECT_EQ(slurp(path), "1024\n");
}

TEST_F(SessionTest, TheSourceIsShownWholeAsItWasNamed) {
  const Mounted mount(tree);
  const std::string mounts = slurp("/proc/self/mountinfo");
  EXPECT_NE(mounts.find("fuse.h5mount fake,\\040with\\040\\134\\040and\\040comma"), std::string::npos)
      << mounts;
}

TEST(CheckMountpoint, SaysWhatIsWrong) {
  EXPECT_NE(fuse::check_mountpoint("/nowhere/at/all").error().text().find("does not exist"),
            std::string::npos);
  EXPECT_NE(fuse::check_mountpoint("/proc/self/mountinfo").error().text().find("not a directory"),
            std::string::npos);
}

TEST_F(SessionTest, ASecondMountOnTheSamePlaceIsRefused) {
  const Mounted mount(tree);
  const auto again = fuse::check_mountpoint(mount.path().string());
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().text().find("already"), std::string::npos);
}

}  // namespace
}  // namespace h5mount::test
