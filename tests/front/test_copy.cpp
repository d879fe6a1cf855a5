// --copy: onto disk, interrupted, continued, and beside what is there already.
#include "front_test.h"

namespace h5mount::test {
namespace {

class CopyTest : public FrontTest {
 protected:
  void SetUp() override {
    FrontTest::SetUp();
    if (IsSkipped()) return;
    write(R"(
f.attrs['title'] = 'root'
g = f.create_group('group')
g.attrs['note'] = 'of a group'
g['numbers'] = np.arange(5000, dtype='<i4')
g['numbers'].attrs['units'] = 'K'
f['again'] = g['numbers']
f['link'] = h5py.SoftLink('/group/numbers')
holes = f.create_dataset('holes', (1 << 20,), 'u1', chunks=(10000,))
holes[300000:300010] = 7
for i in range(20): f['many/%02d' % i] = np.full(1000, i)
)");
  }
};

constexpr const char* kSame = R"(
def same(place):
    with h5py.File('f.h5') as f:
        def check(name, d):
            if isinstance(d, h5py.Dataset):
                assert open(place + '/' + name, 'rb').read() == d[()].tobytes(), name
        f.visititems(check)
    assert not [n for _, _, names in os.walk(place) for n in names if n.startswith('.h5mount')]
)";

TEST_F(CopyTest, IsWhatCpGivesOfAMount) {
  const Outcome out =
      in("$H5MOUNT --copy f.h5 / x && stat -c '%A %h %n' x x/* && readlink x/link && "
         "getfattr -n user.title --only-values x && getfattr -n user.units --only-values x/again && "
         "getfattr -n user.note --only-values x/group");
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.err, "");
  for (const char* words : {"dr-xr-xr-x 4 x\n", "-r--r--r-- 2 x/again\n", "lrwxrwxrwx 1 x/link\n",
                            "group/numbers\nrootKof a group"})
    EXPECT_NE(out.out.find(words), std::string::npos) << out.out;
  const Outcome bytes = python(std::string(kSame) +
                               "same('x')\n"
                               "assert os.stat('x/again').st_ino == os.stat('x/group/numbers').st_ino\n"
                               "fd = os.open('x/holes', os.O_RDONLY)\n"
                               "assert os.lseek(fd, 0, os.SEEK_DATA) == 300000 // 4096 * 4096\n"
                               "assert int(os.stat('x/group').st_mtime) == int(os.stat('f.h5').st_mtime)\n");
  EXPECT_EQ(bytes.code, 0) << bytes.err;
}

TEST_F(CopyTest, WhereAPathGoes) {
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 group g && ls g").out, "numbers\n");
  EXPECT_EQ(in("mkdir d && $H5MOUNT --copy f.h5 group/numbers d && ls d").out, "numbers\n");
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 group/numbers d/other && ls d").out, "numbers\nother\n");
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 link d && readlink d/link").out, "group/numbers\n");
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 /.h5/npy/group v && ls v").out, "numbers.npy\n");
  const Outcome nowhere = in("$H5MOUNT --copy f.h5 / no/such/place");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(lines_in(nowhere.err), 1) << nowhere.err;
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 /none n").code, 1);
}

TEST_F(CopyTest, AnInterruptEndsItWithinASecondAndItGoesOn) {
  write(R"(
for name in 'abc':
    d = f.create_dataset(name, (150 << 20,), 'u1', chunks=(1 << 20,), compression='gzip', compression_opts=9)
    d.id.write_direct_chunk((0,), __import__('zlib').compress(np.random.RandomState(1).bytes(1 << 20), 1))
    stored = d.id.read_direct_chunk((0,))[1]
    for i in range(150): d.id.write_direct_chunk((i << 20,), stored)
)");
  for (const char* signal : {"INT", "TERM", "KILL"}) {
    const Outcome out = python(R"(
copy = subprocess.Popen([os.environ['H5MOUNT'], '--copy', 'f.h5', '/', 'y'])
def half(): return os.path.isdir("y") and any(n.startswith(".h5mount-copy-") for n in os.listdir("y"))
while not half(): time.sleep(0.001)
copy.send_signal(getattr(__import__('signal'), 'SIG)" +
                               std::string(signal) + R"('))
start = time.time()
code = copy.wait()
print(128 - code, int(1000 * (time.time() - start)))
)");
    int code = 0, milliseconds = 0;
    ASSERT_EQ(std::sscanf(out.out.c_str(), "%d %d", &code, &milliseconds), 2) << out.out;
    EXPECT_GT(code, 128);
    EXPECT_LT(milliseconds, 1000);
    // Whatever is there under its name is whole.
    const Outcome whole = python(R"(
with h5py.File('f.h5') as f:
    for place, _, names in os.walk('y'):
        for name in names:
            path = os.path.join(place, name)
            if not name.startswith('.h5mount'):
                assert os.path.getsize(path) == f[os.path.relpath(path, 'y')].nbytes, path
            elif name != '.h5mount-copied': assert ')" +
                                 std::string(signal) +
                                 R"(' == 'KILL', name
)");
    EXPECT_EQ(whole.code, 0) << whole.err;
  }
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 / y").code, 0);
  const Outcome same =
      in("for n in a b c; do $H5MOUNT --cat f.h5 $n | cmp - y/$n || exit 1; done; ls -A y | grep h5mount");
  EXPECT_EQ(same.out, "");
  EXPECT_EQ(same.err, "");
}

// ext4 has 65,000 links a file.
TEST_F(CopyTest, MoreLinksThanTheFileSystemHas) {
  write("f['0'] = 1\nfor i in range(1, 66000): f['g/%d' % i] = f['0']");
  const Outcome out = in("$H5MOUNT --copy f.h5 / x && ls x/g | wc -l && ls x/g | grep -c h5mount", 300);
  EXPECT_EQ(out.out, "65999\n0\n") << out.err;
  EXPECT_EQ(out.err, "");
}

TEST_F(CopyTest, WhatCannotBeReadIsNamedAndNotThere) {
  write(R"(
d = f.create_dataset('damaged', (1 << 20,), 'u1', chunks=(1 << 19,), fletcher32=True)
d[:] = 1
place = d.id.get_chunk_info(1).byte_offset
f.flush()
with open('f.h5', 'r+b') as raw:
    raw.seek(place + 5)
    raw.write(b'\x55')
f['last'] = np.arange(3)
)");
  const Outcome out = in("$H5MOUNT --copy f.h5 / x; echo $?; ls -A x");
  EXPECT_EQ(out.out, "1\nlast\n");
  EXPECT_EQ(lines_in(out.err), 1) << out.err;
  EXPECT_NE(out.err.find("/damaged: "), std::string::npos) << out.err;
}

TEST_F(CopyTest, NothingLeavesTheDestination) {
  in("mkdir x outside && ln -s ../outside x/group && echo mine >outside/numbers && ln -s ../outside/numbers "
     "x/holes");
  const Outcome out =
      in("$H5MOUNT --copy f.h5 / x; echo $?; cat outside/numbers; ls outside; stat -c %F x/holes");
  EXPECT_EQ(out.out, "1\nmine\nnumbers\nregular file\n");
  EXPECT_NE(out.err.find("/group: "), std::string::npos) << out.err;
}

TEST_F(CopyTest, AFullDiskIsOneLine) {
  H5MOUNT_NEEDS_ROOT();
  H5MOUNT_NEEDS_NAMESPACES();
  const Outcome out =
      in("mkdir small && unshare --mount sh -c 'mount -t tmpfs -o size=64k none small && $H5MOUNT --copy "
         "f.h5 / small/x; "
         "echo $?; ls -A small/x | grep h5mount-copy-'");
  EXPECT_EQ(out.out, "1\n");
  EXPECT_NE(out.err.find("small/x: "), std::string::npos) << out.err;
  EXPECT_NE(out.err.find("No space left"), std::string::npos) << out.err;
  EXPECT_EQ(out.err.find("f.h5"), std::string::npos) << out.err;  // it is not the source that is full
  EXPECT_EQ(lines_in(out.err), 1) << out.err;
  const Outcome read_only =
      in("mkdir ro && unshare --mount sh -c 'mount -t tmpfs -o ro none ro && $H5MOUNT --copy f.h5 / ro/x; "
         "$H5MOUNT --copy f.h5 /group/numbers ro/x; $H5MOUNT --copy f.h5 / ro'");
  EXPECT_EQ(lines_in(read_only.err), 3) << read_only.err;
  EXPECT_EQ(read_only.err.find("f.h5"), std::string::npos) << read_only.err;
  EXPECT_NE(read_only.err.find("/ro/x: "), std::string::npos) << read_only.err;
}

TEST_F(CopyTest, AnOrdinaryUserGoesOnIntoReadOnlyDirectories) {
  H5MOUNT_NEEDS_ROOT();
  in("chmod 777 . && chmod 755 .. && chmod 644 f.h5 && cp $H5MOUNT .");
  const std::string nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  EXPECT_EQ(in(nobody + "./h5mount --copy f.h5 / n").code, 0);
  in("rm -f n/many/07");
  const Outcome again = in(nobody + "./h5mount --copy f.h5 / n && stat -c '%A %U' n/many n/many/07");
  EXPECT_EQ(again.out, "dr-xr-xr-x nobody\n-r--r--r-- nobody\n") << again.err;
}

TEST_F(CopyTest, ProgressIsShownOnTerminalsOnly) {
  const Outcome terminal = in("script -qec '$H5MOUNT --copy f.h5 / x' /dev/null");
  EXPECT_NE(terminal.out.find("MiB/s"), std::string::npos) << terminal.out;
  EXPECT_NE(terminal.out.find("files"), std::string::npos);
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 / y").err, "");
}

}  // namespace
}  // namespace h5mount::test
