// Mounts in containers: a descriptor that another process mounted, a fusermount3 that mounts for those who
// have no /dev/fuse, and neither.
#include "command.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

const std::string kHandOver = std::string(H5MOUNT_SOURCE_ROOT "/tests/mount/hand_over.py");

class ContainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    if (::geteuid() != 0) GTEST_SKIP() << "only root mounts for others";
    const std::string device = (scratch() / "probe").string();
    if (run("mknod " + device + " c 10 229 && exec 9<> " + device + "; code=$?; rm -f " + device +
            "; exit $code")
            .code != 0)
      GTEST_SKIP() << "no device may be made in " << scratch();
  }

  // A shell command in a mount namespace whose /dev has no fuse, with `programs` in front of PATH.
  static Outcome run_without_device(const std::string& command, const std::string& programs) {
    const auto script = scratch() / "inside.sh";
    std::ofstream(script) << "set -e\nmount -t tmpfs none /dev\nmknod -m 666 /dev/null c 1 3\n"
                          << "export PATH=" << programs << "\n"
                          << command << "\n";
    return run("unshare -m sh " + script.string());
  }
  // A directory with a fusermount3 that is the proxy.
  static std::filesystem::path proxy_directory() {
    const auto place = scratch() / "proxy";
    std::filesystem::create_directories(place);
    std::filesystem::remove(place / "device");
    std::filesystem::remove(place / "device.log");
    EXPECT_EQ(run("mknod " + (place / "device").string() + " c 10 229").code, 0);
    std::ofstream(place / "fusermount3") << "#!/bin/sh\nexec /usr/bin/python3 " << kHandOver << " --proxy "
                                         << (place / "device").string() << " \"$@\"\n";
    std::filesystem::permissions(place / "fusermount3", std::filesystem::perms::all);
    return place;
  }
  std::string hand_over(const std::string& options) const {
    return kHandOver + " " + mount.path() + " $H5MOUNT " + options + " " + example().string() + " '{}'";
  }
  // A mount in which `command` runs, and whose server then gets that signal.
  std::string served_until(const std::string& signal, const std::string& command) const {
    const std::string place = mount.path();
    return "$H5MOUNT -f " + example().string() + " " + place + " & server=$!\nuntil ls " + place +
           "/station > /dev/null 2>&1; do sleep 0.1; done\n(cd " + place + " && " + command + ")\nkill -" +
           signal + " $server\nwhile findmnt " + place + " > /dev/null; do sleep 0.1; done\necho unmounted";
  }
  MountPoint mount;
};

TEST_F(ContainerTest, ADescriptorThatWasHandedOverIsServed) {
  const Outcome started = run(hand_over("-o allow_other"));
  ASSERT_EQ(started.code, 0) << started.err;
  EXPECT_EQ(started.out + started.err, "");
  EXPECT_EQ(mount.in("cat observations/humidity | sha256sum").out,
            run("$H5MOUNT --cat " + example().string() + " observations/humidity | sha256sum").out);
  EXPECT_NE(mount.in("findmnt -n -o SOURCE .").out.find("handed"), std::string::npos);
  EXPECT_EQ(run("umount " + mount.path()).code, 0);
  EXPECT_TRUE(mount.gone());
}

TEST_F(ContainerTest, SigtermClosesADescriptorThatWasHandedOver) {
  const Outcome ran = run(kHandOver + " " + mount.path() + " sh -c '$H5MOUNT -f " + example().string() +
                          " {} & server=$!; until ls " + mount.path() +
                          "/station; do sleep 0.1; done; kill $server; wait $server; echo ended $?'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("ended 0\n"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(run("ls " + mount.path()).err.find("not connected"), std::string::npos);
  EXPECT_EQ(run("umount " + mount.path()).code, 0);
}

TEST_F(ContainerTest, WhatIsNoDescriptorOfFuseIsNamed) {
  const Outcome closed = run("$H5MOUNT " + example().string() + " /dev/fd/77");
  EXPECT_EQ(closed.code, 32);
  EXPECT_NE(closed.err.find("/dev/fd/77 is not an open descriptor"), std::string::npos) << closed.err;
  const Outcome other = run("$H5MOUNT " + example().string() + " /dev/fd/9 9< /dev/null");
  EXPECT_EQ(other.code, 32);
  EXPECT_NE(other.err.find("/dev/fd/9 is not a descriptor of /dev/fuse"), std::string::npos) << other.err;
  EXPECT_EQ(lines_in(closed.err + other.err), 2);
}

TEST_F(ContainerTest, WithoutADeviceFusermountIsAsked) {
  H5MOUNT_NEEDS_NAMESPACES();
  const auto place = proxy_directory();
  const Outcome ran = run_without_device(served_until("TERM", "cat observations/humidity | sha256sum"),
                                         place.string() + ":$PATH");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, run("$H5MOUNT --cat " + example().string() + " observations/humidity | sha256sum").out +
                         "unmounted\n");
  const std::string asked = slurp(place / "device.log");
  EXPECT_NE(asked.find("-o ro,nosuid,nodev"), std::string::npos) << asked;
  EXPECT_NE(asked.find("-u -q -z -- " + mount.path()), std::string::npos) << asked;
}

TEST_F(ContainerTest, AServerThatIsKilledIsUnmountedByFusermountToo) {
  H5MOUNT_NEEDS_NAMESPACES();
  const auto place = proxy_directory();
  const Outcome ran = run_without_device(served_until("KILL", "true"), place.string() + ":$PATH");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "unmounted\n");
}

TEST_F(ContainerTest, WithoutADeviceAndWithoutAHelperTheOtherWaysAreNamed) {
  H5MOUNT_NEEDS_NAMESPACES();
  const Outcome ran = run_without_device(
      "set +e\n$H5MOUNT " + example().string() + " " + mount.path() + "\necho $?", "/nowhere");
  EXPECT_EQ(ran.out, "32\n");
  EXPECT_EQ(lines_in(ran.err), 1) << ran.err;
  for (const char* word : {"no /dev/fuse", "--device /dev/fuse", "--list, --cat"})
    EXPECT_NE(ran.err.find(word), std::string::npos) << word << ": " << ran.err;
}

TEST_F(ContainerTest, TheRealFusermountsWordsAreTold) {
  H5MOUNT_NEEDS_NAMESPACES();
  const Outcome ran =
      run_without_device("set +e\n$H5MOUNT " + example().string() + " " + mount.path(), "$PATH");
  EXPECT_EQ(lines_in(ran.err), 1) << ran.err;
  for (const char* word : {"no /dev/fuse", "fusermount3 mounted nothing", "device not found"})
    EXPECT_NE(ran.err.find(word), std::string::npos) << word << ": " << ran.err;
}

TEST_F(ContainerTest, APodsSideCarMountsForTheContainerBesideIt) {
  H5MOUNT_NEEDS_NAMESPACES();
  const auto volume = scratch() / "volume";
  std::filesystem::create_directories(volume);
  const Outcome ran =
      run("unshare -m /usr/bin/python3 " H5MOUNT_SOURCE_ROOT "/tests/mount/run_pod.py $H5MOUNT " +
          example().string() + " " + volume.string());
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* word : {"observations", "radar", "station"})
    EXPECT_NE(ran.out.find(word), std::string::npos) << word << ": " << ran.out << ran.err;
  EXPECT_TRUE(ran.out.ends_with("unmounted\n")) << ran.out;
}

}  // namespace
}  // namespace h5mount::test
