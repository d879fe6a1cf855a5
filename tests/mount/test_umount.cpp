// What can be done as soon as umount has come back.
#include "command.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

constexpr int kRounds = 50;

class UmountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    std::error_code there;
    std::filesystem::create_symlink(H5MOUNT_PROGRAM, helper, there);
  }
  const std::string helper = scratch() / "umount.fuse.h5mount";
  const std::string file = scratch() / "source.h5";
  MountPoint mount;
};

// The file can be moved, locked by a writer and removed, whoever unmounted.
TEST_F(UmountTest, TheFileIsFreeRightAfter) {
  const std::string end = "(umount " + mount.path() + " 2>/dev/null || fusermount3 -u " + mount.path() + ")";
  for (int round = 0; round < kRounds; ++round) {
    std::filesystem::copy_file(example(), file, std::filesystem::copy_options::overwrite_existing);
    ASSERT_EQ(mount.mount(file).code, 0);
    const Outcome done =
        run("cat " + mount.path("station/log") + " >/dev/null && " + end + " && flock -n -x " + file +
            " true && mv " + file + " " + file + ".moved && rm " + file + ".moved");
    ASSERT_EQ(done.code, 0) << round << ": " << done.err;
  }
}

TEST_F(UmountTest, AWriterCanOpenItRightAfter) {
  std::filesystem::copy_file(example(), file, std::filesystem::copy_options::overwrite_existing);
  std::ofstream(scratch() / "writer.py") << R"(
import h5py, os, subprocess, sys
program, helper, path, place = sys.argv[1:]
os.environ['HDF5_USE_FILE_LOCKING'] = 'TRUE'
for round in range(50):
    subprocess.run([program, path, place], check=True)
    os.listdir(place)
    subprocess.run([helper, place], check=True)
    with h5py.File(path, 'r+') as file:
        file.attrs['round'] = round
)";
  const Outcome done = run("/usr/bin/python3 " + (scratch() / "writer.py").string() + " $H5MOUNT " + helper +
                           " " + file + " " + mount.path());
  EXPECT_EQ(done.code, 0) << done.err;
}

// The file system below is not busy any more: the process has closed what it had open.
TEST_F(UmountTest, TheFileSystemBelowIsFreeRightAfter) {
  H5MOUNT_NEEDS_ROOT();
  const MountPoint disk;
  for (int round = 0; round < kRounds; ++round) {
    const Outcome done = run("mount -t tmpfs none " + disk.path() + " && cp " + example().string() + " " +
                             disk.path("a.h5") + " && $H5MOUNT " + disk.path("a.h5") + " " + mount.path() +
                             " && cat " + mount.path("station/log") + " >/dev/null && " + helper + " " +
                             mount.path() + " -n && umount " + disk.path());
    ASSERT_EQ(done.code, 0) << round << ": " << done.err;
  }
}

// umount(8) asks the helper where it looks the mount's type up: for a user, with -l or -f, for what fstab has
// options of.
TEST_F(UmountTest, UmountUsesTheHelper) {
  H5MOUNT_NEEDS_ROOT();
  const auto layer = scratch() / "umount-layer";
  std::filesystem::create_directories(layer);
  std::ofstream(layer / "umount.fuse.h5mount") << "#!/bin/sh\necho helper $*\nexec " << helper << " \"$@\"\n";
  std::filesystem::permissions(layer / "umount.fuse.h5mount", std::filesystem::perms(0755));
  const std::string sbin = "$(realpath /sbin)";
  const std::string overlay = "mount -t overlay -o lowerdir=" + layer.string() + ":" + sbin + " none " + sbin;
  if (run("unshare -m sh -c '" + overlay + "'").code != 0) GTEST_SKIP() << "no overlay mounts here";
  const Outcome done = run("unshare -m sh -ec '" + overlay + "; $H5MOUNT " + example().string() + " " +
                           mount.path() + "; umount -f " + mount.path() + "'");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "helper " + mount.path() + " -f\n");
  EXPECT_TRUE(mount.gone());
}

TEST_F(UmountTest, ABusyMountStaysAndIsToldSo) {
  ASSERT_EQ(mount.mount(example()).code, 0);
  const Outcome busy = mount.in(helper + " " + mount.path());
  EXPECT_EQ(busy.code, 32);
  EXPECT_EQ(lines_in(busy.err), 1) << busy.err;
  EXPECT_NE(busy.err.find("busy"), std::string::npos) << busy.err;
  EXPECT_TRUE(mount.mounted());
  EXPECT_EQ(mount.in(helper + " -l " + mount.path()).code, 0);
  EXPECT_FALSE(mount.mounted());
  EXPECT_EQ(run(helper + " " + mount.path()).code, 32);  // nothing is mounted any more
}

}  // namespace
}  // namespace h5mount::test
