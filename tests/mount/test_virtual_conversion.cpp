// Virtual datasets whose sources are of another number type than the view: what libhdf5 makes of them, bit
// for bit.
#include "command.h"

namespace h5mount::test {
namespace {

TEST(VirtualConversion, GivesTheBytesThatLibhdf5Gives) {
  H5MOUNT_NEEDS_FUSE();
  const auto place = scratch() / "conversion";
  std::filesystem::create_directory(place);
  const Outcome made = run("cd " + place.string() + " && " + python() +
                           (source_root() / "tests/mount/fixtures/virtual_conversion.py").string());
  ASSERT_EQ(made.code, 0) << made.err;
  ASSERT_EQ(made.out, std::to_string(15 * 15 + 6 * 6) + "\n");
  MountPoint mount;
  ASSERT_EQ(mount.mount(place / "f.h5").code, 0);
  const Outcome differ = run("cd " + (place / "expected").string() + " && for f in *; do cmp -s $f " +
                             mount.path() + "/$f || echo $f; done");
  EXPECT_EQ(differ.out, "") << "views that differ";
}

}  // namespace
}  // namespace h5mount::test
