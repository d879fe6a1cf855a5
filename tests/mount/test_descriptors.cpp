// Many more files than descriptors.
#include "h5py_directory.h"

namespace h5mount::test {
namespace {

class DescriptorsTest : public H5pyDirectoryTest {
 protected:
  // `count` files with one number each, a file of external links to them, and a virtual dataset over them.
  // They are copies of one file, the number put in.
  void write_many(int count) const {
    write("count = " + std::to_string(count) + R"(
f = h5py.File('one', 'w'); f['k'] = np.uint32(0xDEADBEEF); f.close()
one = open('one', 'rb').read(); at = one.index(b'\xef\xbe\xad\xde')
assert one.count(b'\xef\xbe\xad\xde') == 1
os.mkdir('parts')
for i in range(count):
    open('parts/p%05d.h5' % i, 'wb').write(one[:at] + i.to_bytes(4, 'little') + one[at + 4:])
f = h5py.File('m.h5', 'w', libver='latest')
l = h5py.VirtualLayout(shape=(count,), dtype='<u4')
g = f.create_group('links')
for i in range(count):
    g['l%05d' % i] = h5py.ExternalLink('parts/p%05d.h5' % i, '/k')
    l[i] = h5py.VirtualSource('parts/p%05d.h5' % i, 'k', shape=())
f.create_virtual_dataset('view', l, fillvalue=77)
f.close())");
  }
  // Prints the largest number of descriptors that the program was seen with, after all that was wrong.
  std::string read_all(int count) const {
    return "PID=$pid /usr/bin/python3 - <<'END'\nimport os, struct\ncount, worst = " + std::to_string(count) +
           ", 0\nbase = '" + mount.path() + "/'\n" + R"(
def descriptors(): return len(os.listdir('/proc/' + os.environ['PID'] + '/fd'))
for turn in range(2):
    for i in range(count):
        value = struct.unpack('<I', open(base + 'links/l%05d' % i, 'rb').read())[0]
        if value != i: print('link', i, value)
        if i % 50 == 0: worst = max(worst, descriptors())
view = struct.unpack('<%dI' % count, open(base + 'view', 'rb').read())
worst = max(worst, descriptors())
for i in range(count):
    if view[i] != i: print('view', i, view[i])
print(worst)
END)";
  }
  // Mounts under a bound on descriptors, in the foreground, so that the process is known.
  Outcome read_under(const std::string& limits, int count) const {
    return run("(" + limits + "; exec $H5MOUNT -f " + (place / "m.h5").string() + " " + mount.path() +
                   ") & pid=$!\n" + "for i in $(seq 300); do mountpoint -q " + mount.path() +
                   " && break; sleep 0.1; done\n" + read_all(count) + "\n(umount " + mount.path() +
                   " || fusermount3 -u " + mount.path() + ") && wait $pid",
               600);
  }
};

TEST_F(DescriptorsTest, FiveThousandFilesUnder256Descriptors) {
  write_many(5000);
  const Outcome read = read_under("ulimit -n 256", 5000);
  EXPECT_EQ(read.code, 0) << read.err;
  ASSERT_EQ(lines_in(read.out), 1) << read.out.substr(0, 2000);
  EXPECT_LE(std::stoi(read.out), 200);
}

TEST_F(DescriptorsTest, MoreLinksThanTheSoftBound) {
  write_many(1500);
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
