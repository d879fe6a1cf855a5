// A file whose filter nobody knows, written by libhdf5 with a plugin of the tests' own: unsupported by name
// without the plugin, the same bytes with it, and a plugin that crashes costs its dataset only.
#include "command.h"

namespace h5mount::test {
namespace {

constexpr const char* kWrite = R"(
import h5py, numpy
with h5py.File('plugins.h5', 'w') as f:
    data = numpy.arange(50000, dtype='<i4').reshape(500, 100)
    f.create_dataset('sound', data=data, chunks=(64, 100), compression=64001, compression_opts=(1,))
    f.create_dataset('crashes', data=data, chunks=(64, 100), compression=64002)
    f.create_dataset('plain', data=data)
)";

class PluginsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    std::ofstream(scratch() / "write.py") << kWrite;
    const Outcome made = run("cd " + scratch().string() + " && HDF5_PLUGIN_PATH=" H5MOUNT_TEST_PLUGINS " " +
                             python() + "write.py");
    ASSERT_EQ(made.code, 0) << made.err;
  }
  MountPoint mount;
};

TEST_F(PluginsTest, WithoutThePluginItIsUnsupportedByName) {
  ASSERT_EQ(mount.mount(scratch() / "plugins.h5").code, 0);
  const Outcome read = mount.in("cat sound");
  EXPECT_NE(read.err.find("not supported"), std::string::npos) << read.err;
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.error sound").out.find("64001"), std::string::npos);
  EXPECT_EQ(mount.in("stat -c %s sound plain").out, "200000\n200000\n");
}

TEST_F(PluginsTest, WithItTheBytesAreThere) {
  ASSERT_EQ(mount.mount(scratch() / "plugins.h5", "-o plugins=" H5MOUNT_TEST_PLUGINS).code, 0);
  EXPECT_EQ(mount.in("cmp sound plain").code, 0);
  EXPECT_NE(mount.in("getfattr --only-values -n user.hdf5.error sound").code, 0);
  const Outcome crashed = mount.in("cat crashes");
  EXPECT_NE(crashed.err.find("Input/output error"), std::string::npos) << crashed.err;
  EXPECT_EQ(mount.in("cmp sound plain").code, 0);
  const std::string place = mount.path();
  ASSERT_EQ(run("umount " + place).code, 0);
  ASSERT_TRUE(mount.gone());
  ::usleep(200'000);
  EXPECT_NE(run("pgrep -f '^h5mount-filter-plugin.*" H5MOUNT_TEST_PLUGINS "'").code, 0)
      << "a helper was left behind";
}

TEST_F(PluginsTest, OneThatHangsWhileItIsLoadedHoldsUpNoOther) {
  // 64010 in place of 64002: in the filter message the length of the filter's name follows.
  ASSERT_EQ(run("cd " + scratch().string() +
                " && /usr/bin/python3 -c \"d = open('plugins.h5', 'rb').read(); assert "
                "d.count(b'\\x02\\xfa\\x18\\0') == 1; "
                "open('hangs.h5', 'wb').write(d.replace(b'\\x02\\xfa\\x18\\0', b'\\x0a\\xfa\\x18\\0'))\"")
                .code,
            0);
  ASSERT_EQ(mount
                .mount(scratch() / "hangs.h5",
                       "-o plugins=" H5MOUNT_TEST_PLUGINS ":" H5MOUNT_TEST_PLUGINS "/hanging")
                .code,
            0);
  // The helper that hangs is given up after 10 s.
  const Outcome read = mount.in(
      "{ cat crashes 2>/dev/null & sleep 0.5; cmp sound plain && kill -0 $! && echo before; wait; }");
  EXPECT_EQ(read.out, "before\n") << read.err;
}

}  // namespace
}  // namespace h5mount::test
