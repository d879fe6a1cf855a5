// Many more files than descriptors.
#include "h5py_directory.h"

namespace h5mount::test {
namespace {

class DescriptorsTest : public H5pyDirectoryTest {
 protected:
  // Mounts under a bound on descriptors, in the foreground, so that the process is known.
  Outcome read_under(const std::string& limits, int count) const {
    const std::string read_all = source_root() / "tests/mount/fixtures/descriptors/read_all.py";
    return run("(" + limits + "; exec $H5MOUNT -f " + (place / "m.h5").string() + " " + mount.path() +
                   ") & pid=$!\n" + "for i in $(seq 300); do mountpoint -q " + mount.path() +
                   " && break; sleep 0.1; done\n" + fixture_python() + read_all + " " + mount.path() + " " +
                   std::to_string(count) + " $pid\n(umount " + mount.path() + " || fusermount3 -u " +
                   mount.path() + ") && wait $pid",
               600);
  }
};

TEST_F(DescriptorsTest, FiveThousandFilesUnder256Descriptors) {
  write_by("descriptors/many_parts.py", "5000");
  const Outcome read = read_under("ulimit -n 256", 5000);
  EXPECT_EQ(read.code, 0) << read.err;
  ASSERT_EQ(lines_in(read.out), 1) << read.out.substr(0, 2000);
  EXPECT_LE(std::stoi(read.out), 200);
}

TEST_F(DescriptorsTest, MoreLinksThanTheSoftBound) {
  write_by("descriptors/many_parts.py", "1500");
  const Outcome read = read_under("ulimit -S -n 1024", 1500);
  EXPECT_EQ(read.code, 0) << read.err;
  ASSERT_EQ(lines_in(read.out), 1) << read.out.substr(0, 2000);
}

TEST_F(DescriptorsTest, WhatIsInheritedIsClosedAndTheBoundIsRaised) {
  write("f = h5py.File('m.h5', 'w'); f['k'] = 1; f.close(); open('inherited', 'w').write('x')");
  const Outcome seen = run("(ulimit -S -n 300; exec 9<" + (place / "inherited").string() +
                           "; exec $H5MOUNT -f " + (place / "m.h5").string() + " " + mount.path() +
                           ") & pid=$!\nfor i in $(seq 300); do mountpoint -q " + mount.path() +
                           " && break; sleep 0.1; done\nls -l /proc/$pid/fd | grep -c inherited; "
                           "awk '/open files/ { print ($4 == $5) }' /proc/$pid/limits; umount " +
                           mount.path() + " || fusermount3 -u " + mount.path() + "; wait $pid");
  EXPECT_EQ(seen.out, "0\n1\n") << seen.err;
}

// A descriptor that the user named is not an inherited one.
TEST_F(DescriptorsTest, AFileThatIsGivenAsADescriptor) {
  write("f = h5py.File('m.h5', 'w'); f['k'] = np.frombuffer(b'here', dtype='u1'); f.close()");
  EXPECT_EQ(run("$H5MOUNT /dev/fd/8 " + mount.path() + " 8<" + (place / "m.h5").string()).code, 0);
  EXPECT_EQ(mount.in("cat k").out, "here");
}

}  // namespace
}  // namespace h5mount::test
