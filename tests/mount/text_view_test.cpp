// /.h5/text through the mount.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_F(ViewsTest, TextIsRowsOfTheLastDimension) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['scalar'] = 3.5
    f['line'] = [1, 2, 3]
    f['table'] = np.arange(6.).reshape(2, 3) / 4
    f['cube'] = np.arange(8).reshape(2, 2, 2)
    f['names'] = np.array([[b'a', b'bc'], [b'say "x"', b'back\\slash']], 'S10')
    f['lines'] = ['one\ntwo', 'tab\t', '']
    f['enum'] = np.array([[0, 1], [1, 2]], h5py.enum_dtype({'RED': 0, 'GREEN': 1}))
    f['empty'] = np.zeros((3, 0))
    f.create_dataset('big', data=np.arange(400000).reshape(4000, 100), chunks=(64, 64), compression='gzip')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
wanted = {'scalar': b'3.5\n', 'line': b'1\n2\n3\n', 'table': b'0.0 0.25 0.5\n0.75 1.0 1.25\n',
          'cube': b'0 1\n2 3\n4 5\n6 7\n', 'names': b'a\nbc\nsay "x"\nback\\\\slash\n',
          'lines': b'one\\ntwo\ntab\\t\n\n', 'enum': b'RED GREEN\nGREEN 2\n', 'empty': b''}
for name, text in wanted.items():
    assert read('text/' + name) == text, (name, read('text/' + name))
    assert os.path.getsize(V + '/text/' + name) == len(text), name
assert np.array_equal(np.loadtxt(V + '/text/big', dtype=int), np.arange(400000).reshape(4000, 100))
whole = read('text/big')
with open(V + '/text/big', 'rb') as f:
    f.seek(1234567); assert f.read(1000) == whole[1234567:1235567]
assert read('slice/table/1') == np.array([.75, 1, 1.25]).tobytes()
)");
}

// Rows that were never written all have the fill value's text, whose length need not be measured row by row.
TEST_F(ViewsTest, TextOfMostlyUnwrittenDatasets) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', (30_000_000,), 'f8', chunks=(4096,), fillvalue=-1.5)[4095:4097] = [7, 8]
    f.create_dataset('too_many', (1 << 30, 1 << 20), 'f8')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for name in ('text/d', 'csv/d.csv'):
    header = b'value\n' if name.startswith('csv') else b''
    fill, one = (b'-1.5\n', 4)
    size = os.path.getsize(V + '/' + name)
    assert size == len(header) + 5 * (30_000_000 - 2) + 2 * one, (name, size)
    with open(V + '/' + name, 'rb') as f:
        assert f.read(len(header) + 5) == header + fill
        f.seek(len(header) + 5 * 4095); assert f.read(13) == b'7.0\n8.0\n' + fill
        f.seek(size - 10); assert f.read() == 2 * fill
assert error('text/too_many') == 'EFBIG', error('text/too_many')
)");
}

// A string whose heap object is gone is an error of its own bytes, one in place of its line.
TEST_F(ViewsTest, DamageOfTextStaysLocal) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['s'] = ['%05d' % i + 'x' * 8186 for i in range(10)]
with open('f.h5', 'r+b') as f:
    at = f.read().index(b'00004x') - 16  # the object's number in its collection
    f.seek(at); f.write(bytes([99]))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for name in ('../s', 'text/s'):
    fd = os.open(V + '/' + name, os.O_RDONLY)
    assert os.fstat(fd).st_size == 9 * 8192 + 1, os.fstat(fd).st_size
    for i in range(10):  # in another page than the damaged byte
        if i != 4: assert os.pread(fd, 5, 8192 * i + 4096 - (8191 if i > 4 else 0)) == b'xxxxx', (name, i)
    try: os.pread(fd, 1, 4 * 8192); assert False, name
    except OSError as e: assert e.errno == errno.EIO
    os.close(fd)
)");
}

}  // namespace
}  // namespace h5mount::test
