// What a user is told who gives the wrong file or the wrong words: one line that names the cure, and the exit
// code.
#include "command.h"

namespace h5mount::test {
namespace {

using namespace std::string_literals;

class MessagesTest : public ::testing::Test {
 protected:
  void SetUp() override { H5MOUNT_NEEDS_FUSE(); }

  void expect_told(const Outcome& outcome, int code, const std::string& about, const std::string& cure) {
    SCOPED_TRACE(about + ": " + cure);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(lines_in(outcome.err), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("h5mount: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(about), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(cure), std::string::npos) << outcome.err;
    EXPECT_FALSE(mount.mounted());
  }
  Outcome usage(const std::string& words) const { return run("$H5MOUNT " + words); }
  std::string file_of(const std::string& name, const std::string& bytes) const {
    const auto path = scratch() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  MountPoint mount;
};

TEST_F(MessagesTest, OtherFormatsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> formats = {
      {"CDF\x01", "nccopy -k nc4"},
      {"CDF\x02", "nccopy -k nc4"},
      {"CDF\x05", "nccopy -k nc4"},
      {"\x0E\x03\x13\x01", "h4toh5"},
      {"MATLAB 5.0 MAT-file, Platform: GLNXA64", "save -v7.3"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"},
      {"/annex/objects/SHA256E-s5--00.h5\n", "git annex get"},
      {"outs:\n- md5: 00\n  path: x.h5\n", "dvc pull"},
      {"\x1F\x8B\x08", "gunzip"},
      {"BZh91AY", "bunzip2"},
      {"\xFD"s + "7zXZ\0"s, "unxz"},
      {"\x28\xB5\x2F\xFD", "unzstd"},
      {"PK\x03\x04", "zip archive"},
      {std::string(257, 'x') + "ustar", "tar archive"},
      {"\x93NUMPY\x01", "numpy.load"},
      {"PAR1", "Parquet"},
      {"ARROW1", "Arrow"},
      {"SIMPLE  =                    T", "FITS"},
      {"GRIB", "GRIB"},
      {"root\0\0"s, "ROOT"},
      {"II*\0"s, "TIFF"},
      {"\n<!DOCTYPE html>\n<html>", "HTML page"},
      {"<html><head>", "HTML page"},
      {"<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code>", "XML document"},
      {"{\"message\": \"not found\"}", "JSON text"},
      {"", "is empty"},
      {std::string(100'000, '\0'), "nothing but zeros"},
  };
  for (const auto& [bytes, cure] : formats) {
    const std::string path = file_of("foreign.h5", bytes);
    expect_told(mount.mount(path), 2, path, cure);
  }
}

TEST_F(MessagesTest, AFileSetIsNamedByItsMember) {
  file_of("set-00000.h5", "CDF\x01");
  expect_told(mount.mount(scratch() / "set-%05d.h5"), 2, "set-00000.h5", "nccopy");
}

// mount(8) reads 1 as "incorrect invocation or permissions".
TEST_F(MessagesTest, MissingAndUnreadableFiles) {
  const std::string nowhere = scratch() / "nowhere.h5";
  expect_told(mount.mount(nowhere), 1, nowhere, "no such file");
  expect_told(mount.mount(scratch() / "part-%04d.h5"), 1, "part-0000.h5", "no such file");
  std::filesystem::create_symlink(nowhere, scratch() / "dangling.h5");
  expect_told(mount.mount(scratch() / "dangling.h5"), 1, "dangling.h5", nowhere);
  std::filesystem::create_symlink("../.git/annex/objects/aa/bb/x.h5", scratch() / "annexed.h5");
  expect_told(mount.mount(scratch() / "annexed.h5"), 1, "annexed.h5", "git annex get");
  ASSERT_EQ(run("mkfifo " + (scratch() / "pipe.h5").string()).code, 0);
  expect_told(mount.mount(scratch() / "pipe.h5"), 1, "pipe.h5", "not a regular file");
}

TEST_F(MessagesTest, UsageIsNamed) {
  const std::string file = example().string();
  const std::string words = "'" + file + "' " + mount.path();
  expect_told(usage(file + " /no/such.h5 " + mount.path()), 1, "/no/such.h5", "no such file");
  expect_told(usage(mount.path() + " " + file), 1, file, "swapped?");
  expect_told(usage("@- </dev/null"), 1, "standard input", "MOUNTPOINT");
  expect_told(usage("-o cache_size " + words), 1, "cache_size", "cache_size=SIZE");
  expect_told(usage("-o cache_size= " + words), 1, "cache_size", "cache_size=SIZE");
  expect_told(usage(words + " -o"), 1, "-o", "needs options");
  expect_told(usage("-o cachesize=1M " + words), 1, "cachesize", "did you mean cache_size=?");
  expect_told(usage("--cache_size=1M " + words), 1, "--cache_size", "-o cache_size=");
  expect_told(usage("--forground " + words), 1, "--forground", "--foreground");
  expect_told(usage("-o uid=no-such-user " + words), 1, "uid=no-such-user", "name of a user");
  expect_told(usage("-o umask=89 " + words), 1, "umask=89", "octal");
  expect_told(usage("-o remount,ro " + words), 1, "remounted", "umount and mount again");
  expect_told(usage("ftp://example.org/a.h5 " + mount.path()), 1, "ftp:", "URL");
}

TEST_F(MessagesTest, SizesAndNamesAsUsersWriteThem) {
  const Outcome done = mount.mount(example(), "-o uid=root,gid=root -o cache_size=64MiB,max_read=64K");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(mount.in("stat -c %u:%g station/log").out, "0:0\n");
  ASSERT_EQ(run("umount " + mount.path() + " 2>/dev/null || fusermount3 -u " + mount.path()).code, 0);
  EXPECT_TRUE(mount.gone());
  for (const char* size : {"64MB", "64m", "1.5G", "0.5GiB"}) {
    const Outcome sized = mount.mount(example(), std::string("-o cache_size=") + size);
    EXPECT_EQ(sized.code, 0) << sized.err;
    ASSERT_EQ(run("umount " + mount.path() + " 2>/dev/null || fusermount3 -u " + mount.path()).code, 0);
    EXPECT_TRUE(mount.gone());
  }
}

TEST_F(MessagesTest, HelpNamesTheExitCodes) {
  const Outcome help = run("$H5MOUNT --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("missing or cannot be read"), std::string::npos);
  EXPECT_TRUE(help.out.ends_with('\n'));
}

}  // namespace
}  // namespace h5mount::test
