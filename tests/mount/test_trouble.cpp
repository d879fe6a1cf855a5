// What is told when a mount cannot be: one line, the right exit code, nothing left behind.
#include <sys/file.h>

#include "command.h"

namespace h5mount::test {
namespace {

class TroubleTest : public ::testing::Test {
 protected:
  void SetUp() override { H5MOUNT_NEEDS_FUSE(); }

  void expect_refused(const Outcome& outcome, int code, const std::string& word) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("h5mount: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_FALSE(mount.mounted());
  }
  std::filesystem::path file_of(const std::string& name, const std::string& bytes) {
    const auto path = scratch() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  MountPoint mount;
};

TEST_F(TroubleTest, NotHdf5) {
  const auto path = file_of("notes.txt", std::string(10'000, 'x'));
  expect_refused(mount.mount(path), 2, path.string());
}

TEST_F(TroubleTest, Empty) {
  expect_refused(mount.mount(file_of("empty.h5", "")), 2, "empty.h5");
}

TEST_F(TroubleTest, OnlyASignature) {
  expect_refused(mount.mount(file_of("short.h5", "\x89HDF\r\n\x1a\n")), 2, "short.h5");
}

TEST_F(TroubleTest, TruncatedAtTheRoot) {
  expect_refused(mount.mount(file_of("cut.h5", slurp(example()).substr(0, 120))), 2, "cut.h5");
}

TEST_F(TroubleTest, GarbageAfterAGoodSuperblock) {
  std::string bytes = slurp(example());
  for (std::size_t i = 96; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13);
  expect_refused(mount.mount(file_of("garbage.h5", bytes)), 2, "garbage.h5");
}

TEST_F(TroubleTest, ATruncatedTailIsToldAndTheRestIsThere) {
  const auto path = file_of("half.h5", slurp(example()).substr(0, 60'000));
  const Outcome mounted = mount.mount(path);
  EXPECT_EQ(mounted.code, 0);
  EXPECT_NE((mounted.out + mounted.err).find("60,000 of "), std::string::npos);
  // The root group lists what is left of it and fails; what lies before the end is whole.
  const Outcome listed = mount.in("ls");
  EXPECT_NE(listed.code, 0);
  EXPECT_EQ(listed.out, "observations\n");
  EXPECT_EQ(mount.in("find observations > /dev/null").code, 0);
  EXPECT_EQ(mount.in("cat observations/humidity | wc -c").out, "1440\n");
}

TEST_F(TroubleTest, NoSuchFile) {
  expect_refused(mount.mount("/nowhere/x.h5"), 1, "no such file");
}

TEST_F(TroubleTest, AFileThatAWriterHasLockedIsRefusedUnlessForced) {
  const auto path = file_of("locked.h5", slurp(example()));
  const int writer = ::open(path.c_str(), O_RDWR);
  ASSERT_EQ(::flock(writer, LOCK_EX | LOCK_NB), 0);
  expect_refused(mount.mount(path), 1, "is locked by a writer");
  EXPECT_EQ(mount.mount(path, "-o force").code, 0);
  ::close(writer);
}

TEST_F(TroubleTest, AFifoDoesNotHang) {
  ASSERT_EQ(run("mkfifo " + (scratch() / "fifo.h5").string()).code, 0);
  expect_refused(mount.mount(scratch() / "fifo.h5"), 1, "fifo.h5");
}

TEST_F(TroubleTest, UnreadableFile) {
  H5MOUNT_NEEDS_ROOT();
  const auto path = file_of("secret.h5", slurp(example()));
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  run("chmod 755 " + scratch().string() + "; chown nobody " + mount.path() + "; cp $H5MOUNT " +
      (scratch() / "program").string());
  const Outcome outcome = run("setpriv --reuid=65534 --clear-groups " + (scratch() / "program").string() +
                              " " + path.string() + " " + mount.path());
  expect_refused(outcome, 1, "ermission denied");
  EXPECT_NE(outcome.err.find("mode 0600"), std::string::npos) << outcome.err;
}

TEST_F(TroubleTest, NoMountPoint) {
  const Outcome outcome = run("$H5MOUNT " + example().string() + " /nowhere/at/all");
  expect_refused(outcome, 32, "/nowhere/at/all");
  EXPECT_NE(outcome.err.find(example().string()), std::string::npos);
}

TEST_F(TroubleTest, MountPointIsAFile) {
  expect_refused(run("$H5MOUNT " + example().string() + " " + file_of("plain", "").string()), 32,
                 "not a directory");
}

TEST_F(TroubleTest, AlreadyMounted) {
  ASSERT_EQ(mount.mount(example()).code, 0);
  const Outcome again = mount.mount(example());
  EXPECT_EQ(again.code, 32);
  EXPECT_EQ(lines_in(again.err), 1) << again.err;
  EXPECT_NE(again.err.find("already"), std::string::npos);
  ASSERT_EQ(run("umount " + mount.path() + " 2>/dev/null || fusermount3 -u " + mount.path()).code, 0);
  EXPECT_TRUE(mount.gone());
}

TEST_F(TroubleTest, NoDevFuse) {
  H5MOUNT_NEEDS_ROOT();
  const std::string away = "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3";
  if (run("unshare -m sh -c '" + away + "'").code != 0) GTEST_SKIP() << "no mount namespaces here";
  expect_refused(
      run("unshare -m sh -c '" + away + " && $H5MOUNT " + example().string() + " " + mount.path() + "'"), 32,
      "/dev/fuse");
}

TEST_F(TroubleTest, MountNotPermitted) {
  H5MOUNT_NEEDS_ROOT();
  expect_refused(run("setpriv --bounding-set -sys_admin --inh-caps -sys_admin $H5MOUNT " +
                     example().string() + " " + mount.path()),
                 32, "cannot mount");
}

TEST_F(TroubleTest, Usage) {
  for (const char* words : {"", "one", "one two three", "-z one two", "-o frobnicate one two",
                            "-o uid=me one two", "-o plugins=/x one two", "-o", "-o cache_size= one two"}) {
    expect_refused(run(std::string("$H5MOUNT ") + words), 1, "");
  }
}

TEST_F(TroubleTest, HelpAndVersionAreNoTrouble) {
  EXPECT_EQ(run("$H5MOUNT -h").code, 0);
  EXPECT_NE(run("$H5MOUNT --help").out.find("cache_size"), std::string::npos);
  EXPECT_TRUE(run("$H5MOUNT -V").out.starts_with("h5mount " H5MOUNT_VERSION "\nlibfuse "));
}

// Names in messages cannot steer a terminal.
TEST_F(TroubleTest, ControlBytesInNamesAreEscaped) {
  const Outcome outcome = run("$H5MOUNT \"$(printf '/tmp/a\\033[31mb')\" " + mount.path());
  EXPECT_EQ(outcome.err.find('\033'), std::string::npos);
  EXPECT_NE(outcome.err.find("\\x1b"), std::string::npos) << outcome.err;
}

// A damaged object is listed; its neighbours are whole.
TEST_F(TroubleTest, DamageStaysLocal) {
  ASSERT_EQ(mount.mount(example()).code, 0);
  const std::string address = mount.in("getfattr --only-values -n user.hdf5.address observations/time").out;
  ASSERT_FALSE(address.empty());
  run("umount " + mount.path() + " 2>/dev/null || fusermount3 -u " + mount.path());
  ASSERT_TRUE(mount.gone());
  std::string bytes = slurp(example());
  bytes[std::stoul(address, nullptr, 16)] = '\x7e';  // the header's version
  ASSERT_EQ(mount.mount(file_of("damaged.h5", bytes)).code, 0);
  EXPECT_EQ(mount.in("ls observations | wc -l").out, "5\n");
  const Outcome read = mount.in("cat observations/time");
  EXPECT_NE(read.code, 0);
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.error observations/time").out.find("version"),
            std::string::npos);
  const std::string sums = (source_root() / "tests/data/weather.sha256").string();
  EXPECT_EQ(mount.in("grep -v observations/time " + sums + " | sha256sum -c").code, 0);
}

}  // namespace
}  // namespace h5mount::test
