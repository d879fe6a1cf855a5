// --tar, held against GNU tar, Python's tarfile, and h5py.
#include "front_test.h"
#include "support/sanitized.h"

namespace h5mount::test {
namespace {

constexpr const char* kEveryKind = R"(
f.attrs['title'] = 'root'
f.attrs['a=b%c'] = 'odd name'
g = f.create_group('group')
g.attrs['note'] = 'of a group'
g['numbers'] = np.arange(5000, dtype='<i4')
g['numbers'].attrs['units'] = 'K'
f['again'] = g['numbers']
f['link'] = h5py.SoftLink('/group/numbers')
f['lost'] = h5py.SoftLink('/nothing')
holes = f.create_dataset('holes', (1 << 20,), 'u1', chunks=(10000,))
holes[300000:300010] = 7
holes[700000] = 9
f.create_dataset('nothing_but_hole', (100000,), 'u1', chunks=(1000,))
f.create_dataset('empty', (0,), 'u1')
f['long/' + 'n' * 250 + '/' + 'm' * 250] = b'deep'
f['long/l'] = h5py.SoftLink('/long/' + 'n' * 250)
for name in [b'latin-\xe9', 'ä'.encode(), b'new\nline', b'back\\slash', b'%']:
    h5py.h5d.create(f.id, name, h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((3,)))
)";

class Tar : public FrontTest {
 protected:
  void SetUp() override {
    FrontTest::SetUp();
    if (!IsSkipped()) write(kEveryKind);
  }
};

TEST_F(Tar, GnuTarUnpacksWhatAMountShows) {
  const Outcome out =
      in("mkdir x && $H5MOUNT --tar f.h5 >f.tar && tar --xattrs -xpf f.tar -C x && cd x && stat -c '%A %h %s "
         "%n' * && "
         "readlink link && getfattr --absolute-names -n user.title --only-values . && "
         "getfattr -n user.units --only-values again && getfattr -n user.note --only-values group && "
         "getfattr -n 'user.a=b%c' --only-values .");
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(out.err, "");
  for (const char* words : {"-r--r--r-- 2 20000 again\n", "dr-xr-xr-x 2 ", "-r--r--r-- 1 1048576 holes\n",
                            "-r--r--r-- 1 0 empty\n", "group/numbers\nrootKof a groupodd name"})
    EXPECT_NE(out.out.find(words), std::string::npos) << out.out;
  const Outcome bytes = python(R"(
with h5py.File('f.h5') as f:
    for name in ['group/numbers', 'again', 'holes', 'nothing_but_hole', 'empty']:
        assert open('x/' + name, 'rb').read() == f[name][:].tobytes(), name
assert os.stat('x/again').st_ino == os.stat('x/group/numbers').st_ino
def data(name):
    fd = os.open(name, os.O_RDONLY)
    try: return os.lseek(fd, 0, os.SEEK_DATA)
    except OSError: return None
assert data('x/nothing_but_hole') is None and data('x/holes') == 300000 // 4096 * 4096
names = {b'latin-\xe9', 'ä'.encode(), b'new\nline', b'back\\slash', b'%25'}
assert names <= set(os.listdir(b'x')), os.listdir(b'x')
assert open('x/long/' + 'n' * 250 + '/' + 'm' * 250).read() == 'deep\n'
)");
  EXPECT_EQ(bytes.code, 0) << bytes.err;
  in("chmod -R u+w x");
}

TEST_F(Tar, ReadersOfPaxOtherThanGnuTar) {
  const Outcome out = python(R"(
archive = subprocess.check_output([os.environ['H5MOUNT'], '--tar', 'f.h5'])
assert len(archive) % 10240 == 0
import io
with tarfile.open(fileobj=io.BytesIO(archive)) as t, h5py.File('f.h5') as f:
    first = t.next()
    assert first.name in ('.', './') and first.isdir()
    assert first.pax_headers['SCHILY.xattr.user.title'] == 'root'
    for name in ['group/numbers', 'holes', 'nothing_but_hole', 'empty']:
        assert t.extractfile('./' + name).read() == f[name][:].tobytes(), name
    assert t.getmember('./group/numbers').linkname == './again' and t.getmember('./group/numbers').islnk()
    assert t.getmember('./link').linkname == 'group/numbers'
    assert './long/' + 'n' * 250 + '/' + 'm' * 250 in t.getnames()
)");
  EXPECT_EQ(out.code, 0) << out.err;
}

TEST_F(Tar, PathsAreNamedByTheirPlace) {
  EXPECT_EQ(in("$H5MOUNT --tar f.h5 group link .h5/slice/again/3:5 | tar t").out,
            "./group/\n./group/numbers\n./link\n./.h5/slice/again/3:5\n");
  const Outcome missing = in("$H5MOUNT --tar f.h5 none link >m.tar; echo $?; tar tf m.tar");
  EXPECT_EQ(missing.out, "1\n./link\n");
  EXPECT_NE(missing.err.find("/none"), std::string::npos);
}

TEST_F(Tar, WhatCannotBeReadIsLeftOutAndNamed) {
  write(R"(
for name, size in ('small', 1 << 20), ('large', 80 << 20):
    d = f.create_dataset(name, (size,), 'u1', chunks=(1 << 19,), fletcher32=True)
    d[:] = 1
    place = d.id.get_chunk_info(1).byte_offset
    f.flush()
    with open('f.h5', 'r+b') as raw:
        raw.seek(place + 5)
        raw.write(b'\x55')
f['last'] = np.arange(3)
)");
  const Outcome out =
      in("$H5MOUNT --tar f.h5 >f.tar; echo $?; tar tf f.tar | tail -n 3; tar tf f.tar | grep -c -e small -e "
         "large");
  EXPECT_EQ(out.out.substr(0, 2), "1\n") << out.err;
  EXPECT_NE(out.out.find("\n0\n"), std::string::npos) << out.out;
  EXPECT_NE(out.out.find("./last\n"), std::string::npos) << out.out;
  EXPECT_NE(out.err.find("/small: "), std::string::npos) << out.err;
  EXPECT_NE(out.err.find("/large: "), std::string::npos) << out.err;
}

// Larger than is held in memory, and cut where nothing says so.
TEST_F(Tar, StreamsLargeFilesInBoundedMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take terabytes of address space";
  write(R"(
d = f.create_dataset('huge', (300 << 20,), 'u1', chunks=(1 << 20,), compression='gzip', compression_opts=1)
for i in range(0, 300 << 20, 10 << 20): d[i:i + (10 << 20)] = i >> 20
)");
  const Outcome out =
      in("bash -c '(ulimit -v 700000; $H5MOUNT -o cache_size=32M --tar f.h5 huge) | tar xO | sha256sum; echo "
         "${PIPESTATUS[0]}'; "
         "$H5MOUNT --cat f.h5 huge | sha256sum");
  const std::string sum = out.out.substr(0, 64);
  EXPECT_EQ(out.out, sum + "  -\n0\n" + sum + "  -\n") << out.err;
}

TEST_F(Tar, AFullDiskIsOneLine) {
  const Outcome full = in("$H5MOUNT --tar f.h5 >/dev/full; echo $?");
  EXPECT_EQ(full.out, "1\n");
  EXPECT_EQ(lines_in(full.err), 1) << full.err;
  EXPECT_NE(full.err.find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace h5mount::test
