// /.h5/slice and /.h5/fields through the mount, held against NumPy's indexing of what h5py reads.
#include "views.h"

namespace h5mount::test {
namespace {

constexpr const char* kCube = R"(
r = np.random.default_rng(2)
cube = r.integers(0, 30000, (17, 23, 29)).astype('<u2')
with h5py.File('f.h5', 'w') as f:
    f['contiguous'] = cube
    f.create_dataset('gzip', data=cube, chunks=(4, 5, 6), compression='gzip', shuffle=True)
    f.create_dataset('tiles', data=cube, chunks=(4, 5, 29))
    f.create_dataset('big', data=cube, chunks=(17, 23, 29))
    f.create_dataset('absent', shape=cube.shape, dtype='<u2', chunks=(4, 5, 6), fillvalue=9)[3:5, 6, :] = 1
    layout = h5py.VirtualLayout(cube.shape, '<u2')
    layout[:9] = h5py.VirtualSource(f['gzip'])[:9]; layout[9:] = h5py.VirtualSource(f['contiguous'])[9:]
    f.create_virtual_dataset('virtual', layout)
    f['scalar'] = 2.5
    f['line'] = np.arange(1000, dtype='>i4')
    f['empty'] = np.zeros((0, 3), 'i2')
    f['text'] = ['zero', 'one', 'two']
    f.create_dataset('array', shape=(3, 2), dtype=np.dtype(('<i4', (5,))))[...] = r.integers(0, 9, (3, 2, 5))
    f['null'] = h5py.Empty('i4')
)";

TEST_F(ViewsTest, SlicesAreWhatNumPySelects) {
  write(kCube);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import random
random.seed(3)
f = h5py.File(P)
def bound(n): return random.choice(['', str(random.randint(-n - 3, n + 3)), '0', '99999999999999999999'])
def item(n):
    kind = random.random()
    if kind < .3: return str(random.randint(-n, n - 1))
    step = random.choice(['', ':', ':1', ':2', ':7', ':100000000000000000000'])
    return bound(n) + ':' + bound(n) + step
def selections(shape):
    yield '...'
    for _ in range(40):
        items = [item(n) for n in shape[:random.randint(1, len(shape))]]
        if random.random() < .3:
            tail = [item(n) for n in shape[len(shape) - random.randint(0, len(shape) - len(items)):]] \
                if len(items) < len(shape) else []
            items += ['...'] + tail
        yield ','.join(items)
for name in ('contiguous', 'gzip', 'tiles', 'big', 'absent', 'virtual'):
    whole = f[name][()]
    for text in selections(whole.shape):
        want = eval('whole[' + text + ']')
        got = read('slice/%s/%s' % (name, text))
        assert got == np.ascontiguousarray(want).tobytes(), (name, text)
        assert os.path.getsize(V + '/slice/%s/%s' % (name, text)) == want.nbytes
        same(np.load(V + '/slice/%s/%s.npy' % (name, text)), want)
same(np.load(V + '/slice/scalar/....npy'), f['scalar'][()])
same(np.load(V + '/slice/line/100:200:3.npy'), f['line'][100:200:3])
same(np.load(V + '/slice/array/1.npy'), f['array'][1])
assert read('slice/text/1:') == b'one\ntwo\n' and read('slice/text/::2') == b'zero\ntwo\n'
assert os.listdir(V + '/slice/contiguous') == [str(i) for i in range(17)]
assert os.listdir(V + '/slice/scalar') == os.listdir(V + '/slice/empty') == []
assert read('slice/empty/:') == b''
)");
}

TEST_F(ViewsTest, WhatIsNoSelectionIsNotThere) {
  write(kCube);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
bad = ['17', '-18', '99999999999999999999', '0,23', '0,0,0,0', '...,...', '::0', '::-1', '1:2:3:4', 'a',
       '1.5', ' 1', '1 ', '+1', '0x1', '1_0', '01', '--1', '-', ',', '1,', ',1', ':,', 'None', 'newaxis',
       '1;2', '[1]', '(1,)', '1:b', '\n', '\x01', '\xff', '....', '1..', '0.csvx', '0.npy.npy', '1' * 200,
       ':' * 200, ','.join('0' * 40), '*', '%30', '\u0661', '0,0,0,...,0']
for text in bad:
    assert error('slice/gzip/' + text) == 'ENOENT', text
for name in ('scalar/0', 'scalar/:', 'empty/0', 'null/0', 'null/...', 'text/3', 'none/0', 'text/0.npy'):
    assert error('slice/' + name) == 'ENOENT', name
assert read('slice/gzip/-0,-0,-0') == read('slice/gzip/0,0,0')
)");
}

TEST_F(ViewsTest, DamageFailsOnlyTheSlicesThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    rows = np.arange(100).repeat(100).reshape(100, 100)
    f.create_dataset('d', data=rows, chunks=(10, 10), compression='gzip')
    for n in range(100):
        info = f['d'].id.get_chunk_info(n)
        if info.chunk_offset == (30, 40): place = info.byte_offset
with open('f.h5', 'r+b') as raw:
    raw.seek(place + 5); raw.write(b'\xff' * 10)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for row in range(100): assert error('slice/d/%d' % row, 0, 800) == ('EIO' if 30 <= row < 40 else None), row
for column in range(100):
    assert error('slice/d/:,%d' % column, 0, 800) == ('EIO' if 40 <= column < 50 else None), column
assert error('slice/d/30:40,::50', 0, 160) is None
)");
}

TEST_F(ViewsTest, FieldsAreMembersPacked) {
  write(R"(
r = np.random.default_rng(4)
inner = np.dtype([('x', '<f4'), ('y', '>f8')])
t = np.dtype({'names': ['id', 'pos', 'name', 'matrix', 'a/b', 'flag'],
              'formats': ['<u2', inner, 'S5', ('<i4', (2, 3)), '<i8', 'i1'],
              'offsets': [0, 8, 20, 28, 56, 64], 'itemsize': 72})
rows = np.frombuffer(r.bytes(72 * 5000), t).copy()
with h5py.File('f.h5', 'w') as f:
    f['contiguous'] = rows
    f.create_dataset('group/gzip', data=rows, chunks=(700,), compression='gzip')
    f['two'] = rows.reshape(50, 100)
    mixed = np.dtype([('n', 'i4'), ('s', h5py.string_dtype())])
    f['mixed'] = np.array([(1, 'one'), (2, 'zwei')], mixed)
    f['plain'] = 1
    f['complex'] = np.array([1 + 2j, 3])
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
assert sorted(os.listdir(V + '/fields')) == ['complex', 'contiguous', 'group', 'mixed', 'two']
assert os.listdir(V + '/fields/two') == ['id', 'pos', 'name', 'matrix', 'a%2Fb', 'flag']
assert os.listdir(V + '/fields/two/pos') == ['x', 'y']
for name in ('contiguous', 'group/gzip', 'two'):
    rows = f[name][()]
    for field in ('id', 'name', 'matrix', 'a/b', 'flag'):
        place = 'fields/%s/%s' % (name, field.replace('/', '%2F'))
        assert read(place) == np.ascontiguousarray(rows[field]).tobytes(), place
        same(np.load(V + '/' + place + '.npy'), rows[field])
        same(np.load(V + '/' + place + '.npy', mmap_mode='r'), rows[field])
    same(np.load(V + '/fields/' + name + '/pos.npy'), rows['pos'])
    for field in 'xy': same(np.load(V + '/fields/' + name + '/pos/' + field + '.npy'), rows['pos'][field])
    with open(V + '/fields/' + name + '/id', 'rb') as part:
        part.seek(1001); assert part.read(777) == rows['id'].tobytes()[1001:1778]
assert read('fields/mixed/s') == b'one\nzwei\n' and read('fields/mixed/n') == b'\1\0\0\0\2\0\0\0'
same(np.load(V + '/fields/complex/i.npy'), np.array([2., 0]))
for name in ('plain', 'two/none', 'two/pos/z', 'two/id/x', 'mixed/s.npy', 'two/id.npy.npy'):
    assert error('fields/' + name) in ('ENOENT', 'ENOTDIR'), name
)");
}

TEST_F(ViewsTest, SlicesOfAGrowingDataset) {
  write_growing(R"(
rows = np.arange(3000).reshape(1000, 3)
f.create_dataset('d', data=rows, chunks=(64, 2), maxshape=(None, 3), compression='gzip')
)",
                R"(
f['d'].resize((1000 + 501 * n, 3))
f['d'][-501:] = np.arange(3 * (499 + 501 * n), 3 * (1000 + 501 * n)).reshape(501, 3)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
held = open(V + '/slice/d/:,1', 'rb')
for n in range(1, 6):
    advance(n)
    whole = np.arange(3 * (1000 + 501 * n)).reshape(-1, 3)
    until(lambda: len(read('slice/d/:,1')) == 8 * len(whole), 'the column grows')
    for text in (':,1', '::100', '-1', '10:20', '-5:,0'):
        want = eval('whole[' + text + ']')
        until(lambda: read('slice/d/' + text) == np.ascontiguousarray(want).tobytes(), text)
    held.seek(0); assert held.read() == np.ascontiguousarray(whole[:, 1]).tobytes()
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
