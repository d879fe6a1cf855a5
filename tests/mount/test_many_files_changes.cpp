// Many files that change while they are mounted.
#include "many_files.h"

namespace h5mount::test {
namespace {

TEST_F(ManyFilesTest, WhatIsAddedRemovedRenamedShowsWithinASecond) {
  mounted();
  const Outcome seen = script(R"(
os.listdir(mnt); os.listdir(mnt + 'sub/deep'); assert not os.path.exists(mnt + 'new.h5')
make(src + 'new.h5', 5); 
until(lambda: read('new.h5/d') == b'\5' * 1000 and 'new.h5' in os.listdir(mnt), 'added')
os.rename(src + 'new.h5', src + 'moved.h5')
until(lambda: not os.path.exists(mnt + 'new.h5') and read('moved.h5/d') == b'\5' * 1000, 'renamed')
os.unlink(src + 'moved.h5')
until(lambda: not os.path.exists(mnt + 'moved.h5') and 'moved.h5' not in os.listdir(mnt), 'removed')
make(src + 'sub/deep/k.h5', 1); until(lambda: 'k.h5' in os.listdir(mnt + 'sub/deep'), 'in a directory')
os.mkdir(src + 'dir'); make(src + 'dir/z.h5', 9)
until(lambda: read('dir/z.h5/d') == b'\x09' * 1000, 'a directory')
os.rename(src + 'dir', src + 'dir2')
until(lambda: not os.path.exists(mnt + 'dir') and read('dir2/z.h5/d') == b'\x09' * 1000, 'a moved directory')
os.symlink('a.h5', src + 's.h5'); until(lambda: read('s.h5/d') == b'\1' * 1000, 'a symlink')
os.unlink(src + 's.h5'); os.symlink('sub/b.nc', src + 's.h5')
until(lambda: read('s.h5/d') == b'\2' * 1000, 'another symlink')
os.chmod(src + 'a.h5', 0o600); until(lambda: os.stat(mnt + 'a.h5').st_mode & 0o777 == 0o500, 'its mode')
until(lambda: os.stat(mnt + 'a.h5/d').st_mode & 0o777 == 0o400, 'the mode below it')
print('done')
)");
  EXPECT_EQ(seen.out, "done\n") << seen.err;
}

TEST_F(ManyFilesTest, AReplacedFileIsTheNewOneAndNeverMixed) {
  mounted();
  const Outcome seen = script(R"(
def bytes_of(fd):
    try: return set(os.pread(fd, 1000, 0))
    except OSError as e: return os.strerror(e.errno)
static = os.open(mnt + 'sub/b.nc/d', os.O_RDONLY); os.pread(static, 10, 0)
for how in ('rename', 'write', 'remove'):
    make(src + 'x.h5', 10); until(lambda: read('x.h5/d') == b'\x0a' * 1000, how + ' before')
    fd = os.open(mnt + 'x.h5/d', os.O_RDONLY | os.O_DIRECT); assert bytes_of(fd) == {10}
    make(src + 'tmp', 11)
    if how == 'rename': os.rename(src + 'tmp', src + 'x.h5')
    elif how == 'write': open(src + 'x.h5', 'r+b').write(open(src + 'tmp', 'rb').read())
    else: os.unlink(src + 'x.h5'); os.rename(src + 'tmp', src + 'x.h5')
    assert bytes_of(fd) in ({10}, 'Stale file handle', 'Input/output error'), bytes_of(fd)
    until(lambda: read('x.h5/d') == b'\x0b' * 1000, how)
    assert bytes_of(fd) in ({10}, 'Stale file handle', 'Input/output error'), bytes_of(fd)
    os.close(fd)
os.truncate(src + 'x.h5', 100); until(lambda: os.listdir(mnt + 'x.h5') == [], 'cut')
make(src + 'x.h5', 12); until(lambda: read('x.h5/d') == b'\x0c' * 1000, 'written again')
assert bytes_of(static) == {2}
print('done')
)");
  EXPECT_EQ(seen.out, "done\n") << seen.err;
}

TEST_F(ManyFilesTest, WhatCannotBeOpenedSaysWhyAndIsTriedAgain) {
  mounted();
  const Outcome seen = script(R"(
print(os.listdir(mnt + 'bad.h5'), b'not an HDF5 file' in os.getxattr(mnt + 'bad.h5', 'user.hdf5.error'))
print(os.listxattr(mnt + 'bad.h5'), error(os.stat, mnt + 'bad.h5/d'))
make(src + 'bad.h5', 6); until(lambda: read('bad.h5/d') == b'\6' * 1000, 'mended')
print(error(os.getxattr, mnt + 'bad.h5', 'user.hdf5.error'))
f = h5py.File(src + 'writing.h5', 'w'); f['d'] = np.full(1000, 8, 'u1'); f.flush()
until(lambda: os.listdir(mnt + 'writing.h5') == [], 'being written')
f.close(); until(lambda: read('writing.h5/d') == b'\x08' * 1000, 'written')
)");
  EXPECT_EQ(seen.out, "[] True\n['user.hdf5.error'] No such file or directory\nNo data available\n")
      << seen.err;
}

TEST_F(ManyFilesTest, AGrowingFileIsFollowedAndLeavesTheOthersCached) {
  ASSERT_EQ(
      run("cd " + place.string() + " && (exec $H5MOUNT -d src " + mount.path() + " 2>log) & exec sleep 1")
          .code,
      0);
  const Outcome seen = script(R"(
f = h5py.File(src + 's.h5', 'w', libver='latest')
d = f.create_dataset('d', (10,), maxshape=(None,), chunks=(10,), dtype='u1'); d[:] = 7; f.swmr_mode = True
until(lambda: read('s.h5/d') == b'\7' * 10, 'there')
fd = os.open(mnt + 's.h5/d', os.O_RDONLY); read('a.h5/d')
for n in range(2, 8):
    d.resize((n * 10,)); d[:] = n; d.flush()
    until(lambda: os.fstat(fd).st_size == n * 10 and read('s.h5/d') == bytes([n]) * n * 10, 'grown')
time.sleep(1.5)
def opcodes():
    return [l.split('opcode: ')[1].split()[0] for l in open('log', errors='replace') if 'opcode: ' in l]
before = len(opcodes()); assert read('a.h5/d') == b'\1' * 1000; time.sleep(.1)
print(sorted(set(opcodes()[before:]) - {'OPEN', 'IOCTL', 'FLUSH', 'RELEASE', 'FORGET', 'BATCH_FORGET'}))
f.close()
)");
  EXPECT_EQ(seen.out, "[]\n") << seen.err;
}

// The system gives two watches: the others are looked at when they are used.
TEST_F(ManyFilesTest, WithoutWatchesWhatIsUsedIsLookedAt) {
  H5MOUNT_NEEDS_ROOT();
  write("for i in range(6): os.mkdir('src/d%d' % i); h5py.File('src/d%d/f.h5' % i, 'w')['d'] = [i]");
  const std::string body = R"(
import h5py, os, sys, time
mnt = sys.argv[1] + '/'
def look(): return [os.listdir(mnt + 'd%d' % i) for i in range(6)]
look()
for i in range(6):
    h5py.File('src/d%d/g.h5' % i, 'w')['x'] = [1]
time.sleep(1.2)
print([len(n) for n in look()])
for i in range(6): os.rename('src/d%d/g.h5' % i, 'src/d%d/f.h5' % i)
time.sleep(1.2)
print([os.listdir(mnt + 'd%d/f.h5' % i) for i in range(6)] == [['x']] * 6)
log = open(mnt + '.h5/log').read()
print(log.count('max_user_watches'))
)";
  std::ofstream(place / "body.py") << body;
  const Outcome seen =
      run("cd " + place.string() +
          " && unshare -Urm sh -c 'echo 3 >/proc/sys/user/max_inotify_watches && $H5MOUNT src " +
          mount.path() + " && /usr/bin/python3 body.py " + mount.path() + "; umount " + mount.path() + "'");
  EXPECT_EQ(seen.out, "[2, 2, 2, 2, 2, 2]\nTrue\n1\n") << seen.err;
}

}  // namespace
}  // namespace h5mount::test
