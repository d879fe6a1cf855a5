// The example through the kernel and the tools that people use.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "command.h"

namespace h5mount::test {
namespace {

class ToolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    const Outcome mounted = mount.mount(example());
    ASSERT_EQ(mounted.code, 0) << mounted.err;
    ASSERT_EQ(mounted.out + mounted.err, "");
  }
  MountPoint mount;
};

TEST_F(ToolsTest, AnswersTheMomentTheCommandReturns) {
  EXPECT_TRUE(mount.mounted());
  EXPECT_TRUE(std::filesystem::is_directory(mount.path("observations")));
}

TEST_F(ToolsTest, EveryByteIsWhatTheWriterWrote) {
  const Outcome sums = mount.in("sha256sum -c " + (source_root() / "tests/data/weather.sha256").string());
  EXPECT_EQ(sums.code, 0) << sums.out << sums.err;
  EXPECT_EQ(lines_in(sums.out), 9);
}

TEST_F(ToolsTest, LsShowsTheTree) {
  const Outcome listing = mount.in("ls -lR");
  EXPECT_EQ(listing.code, 0) << listing.err;
  EXPECT_EQ(listing.err, "");
  for (const char* name : {"observations", "reflectivity", "calibration", "row_type",
                           "latest -> radar/reflectivity", "observations -> ../observations"}) {
    EXPECT_NE(listing.out.find(name), std::string::npos) << name << " in\n" << listing.out;
  }
}

TEST_F(ToolsTest, CreationOrderWhereTheGroupKeepsIt) {
  EXPECT_EQ(mount.in("ls -f observations | grep -v '^\\.'").out,
            "time\ntemperature\nhumidity\npressure\nquality\n");
}

TEST_F(ToolsTest, StatIsExact) {
  struct stat seen = {}, other = {}, source = {};
  ASSERT_EQ(::stat(mount.path("observations/temperature").c_str(), &seen), 0);
  ASSERT_EQ(::stat(mount.path("surface_temperature").c_str(), &other), 0);
  ASSERT_EQ(::stat(example().c_str(), &source), 0);
  EXPECT_EQ(seen.st_size, 1440 * 12 * 4);
  EXPECT_EQ(seen.st_nlink, 2U);
  EXPECT_EQ(seen.st_ino, other.st_ino);
  EXPECT_EQ(seen.st_uid, source.st_uid);
  EXPECT_EQ(seen.st_mode & 0777, source.st_mode & 0444);
  EXPECT_GT(seen.st_blocks, 0);
  EXPECT_LT(seen.st_blocks * 512, seen.st_size);
  EXPECT_EQ(seen.st_mtim.tv_sec, source.st_mtim.tv_sec);
}

TEST_F(ToolsTest, FindEndsAndCounts) {
  EXPECT_EQ(mount.in("find . -type f | wc -l").out, "11\n");
  EXPECT_EQ(mount.in("find . -type d | wc -l").out, "4\n");
  EXPECT_EQ(mount.in("find . -type l | wc -l").out, "3\n");
  EXPECT_EQ(mount.in("find . -size +300k").out, "./radar/reflectivity\n");
  EXPECT_EQ(mount.in("find -L latest -type f").out, "latest\n");
}

TEST_F(ToolsTest, CopiesAreTrue) {
  const std::string copy = scratch() / "copy";
  EXPECT_EQ(mount.in("cp -r . " + copy + " && diff -r --no-dereference . " + copy).code, 0);
  EXPECT_EQ(mount.in("cp -a . " + copy + "2").code, 0);
  run("chmod -R u+w " + copy + " " + copy + "2; rm -rf " + copy + " " + copy + "2");
}

TEST_F(ToolsTest, TarTakesItAll) {
  const Outcome listing = mount.in("tar c . | tar tv");
  EXPECT_EQ(listing.code, 0) << listing.err;
  EXPECT_NE(listing.out.find("./observations/temperature"), std::string::npos);
  EXPECT_NE(listing.out.find("link to ./"), std::string::npos);  // the second hard link
}

TEST_F(ToolsTest, OdShowsValues) {
  EXPECT_EQ(mount.in("od -A n -t d4 --endian=big -N 4 observations/pressure | tr -d ' '").out, "101505\n");
  EXPECT_EQ(mount.in("od -A n -t f4 -j 34560 -N 4 observations/temperature | tr -d ' '").code, 0);
  EXPECT_EQ(mount.in("tail -c 2 radar/reflectivity | od -A n -t u2 | tr -d ' '").out, "65535\n");
}

TEST_F(ToolsTest, StringsAreLines) {
  EXPECT_EQ(mount.in("sed -n 2p station/log").out, "11:40 thermometer mast down\n");
  EXPECT_EQ(mount.in("grep -c maintenance station/log").out, "1\n");
}

TEST_F(ToolsTest, AttributesAreXattrs) {
  const auto value = [this](const std::string& name, const std::string& of) {
    std::string out(65'536, '\0');
    const ssize_t length = ::getxattr(mount.path(of).c_str(), name.c_str(), out.data(), out.size());
    out.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return length < 0 ? std::strerror(errno) : out;
  };
  EXPECT_EQ(value("user.units", "observations/temperature"), "degC");
  EXPECT_EQ(value("user.valid_range", "observations/temperature"), "[-40.0,60.0]");
  EXPECT_EQ(value("user.version", "."), "[1,2]");
  EXPECT_EQ(value("user.default", "."), "\"/surface_temperature\"");
  EXPECT_EQ(value("user.active", "station"), "\"TRUE\"");
  EXPECT_EQ(value("user.hdf5.kind", "station"), "group");
  EXPECT_EQ(value("user.hdf5.kind", "station/row_type"), "datatype");
  EXPECT_EQ(value("user.hdf5.dtype", "observations/temperature"), "<f4");
  EXPECT_EQ(value("user.hdf5.dtype", "observations/quality"),
            "enum(<i1){\"GOOD\":0,\"MISSING\":2,\"SUSPECT\":1}");
  EXPECT_EQ(value("user.hdf5.shape", "radar/reflectivity"), "[24,96,128]");
  EXPECT_EQ(value("user.hdf5.maxshape", "radar/reflectivity"), "[null,96,128]");
  EXPECT_EQ(value("user.hdf5.chunks", "radar/reflectivity"), "[4,48,64]");
  EXPECT_EQ(value("user.hdf5.layout", "radar/reflectivity"), "chunked");
  EXPECT_EQ(value("user.hdf5.fill_value", "radar/reflectivity"), "65535");
  EXPECT_EQ(value("user.none", "station"), std::strerror(ENODATA));
  EXPECT_EQ(value("security.selinux", "station"), std::strerror(ENOTSUP));
}

TEST_F(ToolsTest, GetfattrDumps) {
  const Outcome dump = mount.in("getfattr -d observations/temperature");
  EXPECT_NE(dump.out.find("user.long_name=\"air temperature\""), std::string::npos) << dump.out << dump.err;
  EXPECT_NE(dump.out.find("user.hdf5.filters="), std::string::npos);
  EXPECT_EQ(mount.in("getfattr -R -d . >/dev/null").code, 0);
}

TEST_F(ToolsTest, MmapSeesTheSame) {
  const std::string path = mount.path("radar/reflectivity");
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  constexpr std::size_t kBytes = 24 * 96 * 128 * 2;
  void* const map = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  EXPECT_TRUE(slurp(path) == std::string_view(static_cast<const char*>(map), kBytes));
  ::munmap(map, kBytes);
  ::close(fd);
}

TEST_F(ToolsTest, SeekKnowsUnwrittenChunks) {
  const int fd = ::open(mount.path("radar/clutter").c_str(), O_RDONLY);
  constexpr off_t kWritten = 4 * 96 * 128;
  EXPECT_EQ(::lseek(fd, 0, SEEK_DATA), 0);
  EXPECT_EQ(::lseek(fd, 0, SEEK_HOLE), kWritten);
  EXPECT_EQ(::lseek(fd, kWritten, SEEK_DATA), -1);
  EXPECT_EQ(errno, ENXIO);
  ::close(fd);
}

// A copy leaves holes out and makes zeros of them, so a fill value that is not zero is data.
TEST_F(ToolsTest, UnwrittenChunksThatAreNotZeroAreData) {
  const int fd = ::open(mount.path("radar/reflectivity").c_str(), O_RDONLY);
  EXPECT_EQ(::lseek(fd, 0, SEEK_HOLE), 24 * 96 * 128 * 2);
  ::close(fd);
}

TEST_F(ToolsTest, DfAndFindmntNameFileAndType) {
  EXPECT_EQ(mount.in("findmnt -n -o SOURCE,FSTYPE " + mount.path() + " | tr -s ' '").out,
            example().string() + " fuse.h5mount\n");
  EXPECT_NE(mount.in("df -T .").out.find("fuse.h5mount"), std::string::npos);
  EXPECT_NE(mount.in("findmnt -n -o OPTIONS " + mount.path()).out.find("ro,nosuid,nodev"), std::string::npos);
}

TEST_F(ToolsTest, WritingAnythingIsErofs) {
  for (const char* command : {"touch new", "rm station/log", "mkdir d", "ln -s a b", "echo x >> station/log",
                              "chmod 777 station", "mv latest other", "setfattr -n user.a -v b station"}) {
    const Outcome refused = mount.in(command);
    if (refused.code == 127) continue;
    EXPECT_NE(refused.code, 0) << command;
    EXPECT_NE(refused.err.find("Read-only file system"), std::string::npos) << command << ": " << refused.err;
  }
}

TEST_F(ToolsTest, TheHiddenDirectoryIsReachableButNotListed) {
  EXPECT_EQ(mount.in("ls -a | grep -c '^.h5$'").out, "0\n");
  EXPECT_EQ(mount.in("cat .h5/attributes/observations/temperature@units").out, "degC");
}

TEST_F(ToolsTest, ManyReadersAtOnce) {
  const Outcome sums = mount.in("for i in 1 2 3 4 5 6 7 8; do sha256sum radar/reflectivity & done; wait");
  EXPECT_EQ(sums.code, 0);
  EXPECT_EQ(lines_in(sums.out), 8);
  EXPECT_EQ(run("sort -u " + (scratch() / "out").string() + " | wc -l").code, 0);
}

}  // namespace
}  // namespace h5mount::test
