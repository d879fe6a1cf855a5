// /.h5/parquet through the mount, read by a decoder of Parquet's public format that shares nothing with the
// writer, and held against h5py.
#include "parquet_reader.h"
#include "views.h"

namespace h5mount::test {
namespace {

class ParquetViewTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const { return ViewsTest::check(kParquetReader + statements); }
};

TEST_F(ParquetViewTest, EveryColumnIsWhatH5pyReads) {
  write(R"(
r = np.random.default_rng(0)
enum = h5py.enum_dtype({'A': 0, 'B': -1}, 'i2')
flag = h5py.enum_dtype({'GOOD': 0, 'é "': -1, 'BAD': 5}, 'i1')
t = np.dtype([('i1', 'i1'), ('u1', 'u1'), ('i2', '>i2'), ('u2', 'u2'), ('i4', '>i4'), ('u4', 'u4'),
              ('i8', '>i8'), ('u8', '>u8'), ('f2', '>f2'), ('f4', '>f4'), ('f8', 'f8'), ('c', 'c8'),
              ('e', enum), ('flag', flag), ('raw', 'V3'), ('n', [('x', 'i4', (2,))]), ('on', '?')])
rows = np.frombuffer(r.integers(0, 256, 9000 * t.itemsize, dtype='u1').tobytes(), t).copy()
for name in ('f4', 'f8', 'c'): rows[name] = r.standard_normal(9000)
rows['f2'] = np.arange(9000, dtype='u2').view('f2'); rows['on'] = np.arange(9000) % 2
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('t', data=rows, chunks=(1000,), compression='gzip')
    f['empty'] = np.zeros(0, 'i4')
    f.create_dataset('wide', data=r.random((5000, 200)), chunks=(300, 7), shuffle=True, compression='gzip')
    f.create_dataset('long', data=np.arange(2000003), chunks=(100000,), maxshape=(None,))
    f.create_dataset('vlen', (2,), h5py.vlen_dtype('i4')); f['cube'] = np.zeros((2, 2, 2))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  EXPECT_EQ(mount.in("ls .h5/parquet").out, "empty.parquet\nlong.parquet\nt.parquet\nwide.parquet\n");
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
got, enums = parquet('parquet/t.parquet')
want = f['t'][()]
assert enums['enum:e'] == '{"A":0,"B":-1}'
def equal(column, values):
    np.testing.assert_array_equal(column, values)
    assert column.dtype == values.dtype.newbyteorder('='), (column.dtype, values.dtype)
for name in 'i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 e raw'.split(): equal(got[name], want[name])
equal(got['f2'], want['f2'].astype('f4'))
equal(got['c.real'], want['c'].real); equal(got['c.imag'], want['c'].imag)
for i in range(2): equal(got['n.x.%d' % i], want['n']['x'][:, i])
equal(got['on'], want['on'])
flags = {0: 'GOOD', -1: 'é "', 5: 'BAD'}  # the number where it has no name
assert list(got['flag']) == [flags.get(v, str(v)) for v in want['flag'].tolist()]
assert enums['enum:flag'] == '{"BAD":5,"GOOD":0,"é \\"":-1}', enums
assert parquet('parquet/empty.parquet')[0] == {'value': None}
equal(parquet('parquet/long.parquet')[0]['value'], f['long'][()])
wide = parquet('parquet/wide.parquet')[0]
assert list(wide) == [str(i) for i in range(200)]
for i in range(200): equal(wide[str(i)], f['wide'][:, i])
)");
}

TEST_F(ParquetViewTest, StringsAreTextWhereTheyAreUtf8) {
  write(R"(
t = np.dtype([('n', 'i4'), ('fixed', 'S6'), ('text', h5py.string_dtype()),
              ('bytes', h5py.string_dtype('ascii')), ('on', '?')])
rows = np.zeros(70000, t)
rows['n'] = np.arange(70000); rows['on'] = rows['n'] % 3 == 0
rows['fixed'] = [b'', b'a', b'sixsix', 'é'.encode()] * 17500
rows['text'] = ['', 'naïve', 'x' * 40, '\n', '"'] * 14000
rows['bytes'] = [b'', b'\xff', b'ok', b'x'] * 17500
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('strings', data=rows, chunks=(1000,))
    f['strings_alone'] = np.array([b'a', b'', b'bc'])
    f['strings_empty'] = np.zeros(0, 'S3')
    f['strings_long'] = [c * 100000 for c in 'abcdefg' * 100]  # more than a row group takes
    g = f.create_group('strings_group'); g['a'] = ['x', 'y']; g['b'] = [1, 2]
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
got = parquet('parquet/strings.parquet')[0]
want = f['strings'][()]
assert (got['n'] == want['n']).all() and (got['on'] == want['on']).all()
assert list(got['fixed']) == [v.decode() for v in want['fixed']]
assert list(got['text']) == [v.decode() for v in want['text']]
assert list(got['bytes']) == list(want['bytes'])
assert list(parquet('parquet/strings_alone.parquet')[0]['value']) == ['a', '', 'bc']
assert parquet('parquet/strings_empty.parquet')[0] == {'value': None}
assert list(parquet('parquet/strings_long.parquet')[0]['value']) == [c * 100000 for c in 'abcdefg' * 100]
group = parquet('parquet/strings_group.parquet')[0]
assert list(group['a']) == ['x', 'y'] and list(group['b']) == [1, 2]
)");
}

TEST_F(ParquetViewTest, SizesAreKnownWithoutReading) {
  write(R"(
enum = h5py.enum_dtype({'RED': 0, 'GREEN': 1}, 'u1')
with h5py.File('f.h5', 'w') as f:
    for n in (0, 1, 4194304, 4194305, 13 * 4194304, 14 * 4194304, 15 * 4194304, 16 * 4194304 + 1, 2**33 + 7):
        f.create_dataset('i1_%d' % n, (n,), 'i1', chunks=(4096,), maxshape=(None,))
        f.create_dataset('b_%d' % n, (n,), '?', chunks=(4096,), maxshape=(None,))
        f.create_dataset('e_%d' % n, (n,), enum, chunks=(4096,), maxshape=(None,))
    f.create_dataset('c', (2**31,), [('a', 'i1'), ('b', 'f8'), ('c', '?'), ('e', enum), ('d', enum)],
                     chunks=(4096,))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for name in os.listdir(V + '/parquet'):
    size = os.path.getsize(V + '/parquet/' + name)
    with open(V + '/parquet/' + name, 'rb') as f:
        assert os.path.getsize(V + '/parquet/' + name) == f.seek(0, 2) == size, name
        f.seek(-8, 2)
        end = f.read()
        assert len(end) == 8 and end[4:] == b'PAR1'
        length, = struct.unpack('<I', end[:4])
        f.seek(-8 - length, 2)
        footer = Thrift(f.read(length))
        meta = footer.value(12)
        assert footer.at == length and sum(g[3] for g in meta[4]) == meta[3]
        last = meta[4][-1][1][-1][3] if meta[4] else {9: 4, 7: 0}
        assert last.get(11, last[9]) + last[7] == size - 8 - length
)");
}

TEST_F(ParquetViewTest, DamageIsAnErrorForTheRowGroupsThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(3000000), chunks=(100000,), compression='gzip')
    info = f['d'].id.get_chunk_info(15)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
size = os.path.getsize(V + '/parquet/d.parquet')
assert error('parquet/d.parquet', 0, 1000) is None and error('parquet/d.parquet', size - 1000, 1000) is None
assert error('parquet/d.parquet', 8 * 1500000) == 'EIO'
)");
}

}  // namespace
}  // namespace h5mount::test
