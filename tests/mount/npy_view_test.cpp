// /.h5/npy through the mount: what NumPy loads is what h5py reads.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_F(ViewsTest, NpyIsWhatH5pyReads) {
  write(R"(
r = np.random.default_rng(1)
padded = np.dtype({'names': ['a', 'b', 'é\'\\'], 'formats': ['<i4', ('>f8', (2, 2)), 'S3'],
                   'offsets': [0, 8, 44],
                   'itemsize': 48})
rows = np.zeros(5, padded); rows['a'] = range(5); rows['b'] = r.random((5, 2, 2)); rows['é\'\\'] = b'xyz'
with h5py.File('f.h5', 'w') as f:
    for kind in ('i1', 'u2', 'i4', 'u8', 'f2', 'f4', 'f8'):
        for order in '<>':
            name = {'<': 'le_', '>': 'be_'}[order] + kind
            f[name] = np.arange(12, dtype=order + kind).reshape(3, 4)
    f.create_dataset('gzip', data=r.integers(0, 1000, (300, 400)), chunks=(64, 64), compression='gzip',
                     shuffle=True)
    f.create_dataset('resizable', data=r.random(1000), chunks=(64,), maxshape=(None,), fletcher32=True)
    holes = f.create_dataset('holes', shape=(100, 100), chunks=(10, 10), dtype='i4', fillvalue=7)
    holes[20:30, 20:30] = 1
    f['scalar'] = 3.5
    f['bool'] = np.array([True, False])
    f['complex'] = np.array([1 + 2j, 3], 'c8')
    f['empty'] = np.zeros((0, 3), 'i2')
    f['string'] = np.array([b'abc', b'de'], 'S5')
    f['compound'] = rows
    f['opaque'] = np.array([b'abcd'], 'V4')
    f['enum'] = np.array([0, 1, 2], h5py.enum_dtype({'R': 0, 'G': 1}, basetype='>i2'))
    f['time'] = np.array(['2020-01-01'], 'M8[D]').astype(h5py.opaque_dtype('M8[D]'))
    f.create_dataset('array', shape=(3,), dtype=np.dtype(('<i4', (2, 5))))[...] = r.integers(0, 9, (3, 2, 5))
    layout = h5py.VirtualLayout((2, 1000), 'f8'); layout[1] = h5py.VirtualSource(f['resizable'])
    f.create_virtual_dataset('virtual', layout, fillvalue=-1)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE); properties.set_layout(h5py.h5d.COMPACT)
    compact = h5py.h5d.create(f.id, b'compact', h5py.h5t.STD_I16BE, h5py.h5s.create_simple((5,)), properties)
    h5py.Dataset(compact)[...] = range(5)
    f['sub/deep/x'] = np.arange(3)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
names = []
f.visititems(lambda name, o: names.append(name) if isinstance(o, h5py.Dataset) else None)
assert len(names) > 25
for name in names:
    path = V + '/npy/' + name + '.npy'
    want = f[name][()]
    same(np.load(path), want)
    elements = f[name].id.get_space().get_simple_extent_npoints()
    assert os.path.getsize(path) == 4096 + elements * f[name].id.get_type().get_size(), name
    if np.size(want): same(np.load(path, mmap_mode='r'), want)
)");
}

// What follows the end of a string is zero in NumPy's files, and as it was written in the dataset's own.
TEST_F(ViewsTest, NpyStringsEndWhereH5pyEndsThem) {
  write(kPaddedStrings);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(kLeaves + std::string(R"(
f = h5py.File(P)
stored = b'ab\0XYab   \0\0\0\0\0abcde'
for name in f:
    want = f[name][()]
    have = np.load(V + '/npy/' + name + '.npy')
    assert have.shape == want.shape and have.dtype == want.dtype, name
    assert leaves(have) == leaves(want), (name, have, want)
    for n in want.dtype.names or ():
        assert leaves(np.load(V + '/fields/%s/%s.npy' % (name, n))) == leaves(want[n]), (name, n)
    assert leaves(np.load(V + '/slice/%s/1:.npy' % name)) == leaves(want[1:]), name
    # Any range of bytes, in one read.
    whole = read('npy/' + name + '.npy')
    with open(V + '/npy/' + name + '.npy', 'rb') as file:
        for begin in range(4090, len(whole), 3):
            for length in (1, 4, 7):
                assert os.pread(file.fileno(), length, begin) == whole[begin:begin + length], (name, begin)
for name in ('terminated', 'padded', 'spaces', 'terminated_packed'):
    with open(os.path.dirname(V) + '/' + name, 'rb') as file: assert file.read() == stored, name
)"));
}

TEST_F(ViewsTest, NpyLeavesOutWhatNumPyCannotSay) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['text'] = ['a', 'bb']
    f['null'] = h5py.Empty('f4')
    f['reference'] = np.array([f.ref], h5py.ref_dtype)
    f['fine'] = 1
    f['type'] = np.dtype('i4')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  EXPECT_EQ(mount.in("ls .h5/npy").out, "fine.npy\n");
  H5MOUNT_CHECK("assert error('npy/text.npy') == error('npy/null.npy') == error('npy/type.npy') == 'ENOENT'");
}

TEST_F(ViewsTest, LinksLeadToTheViewOfWhatTheyLeadTo) {
  write(R"(
with h5py.File('g.h5', 'w') as f: f['group/there'] = [1, 2]
with h5py.File('f.h5', 'w') as f:
    f['d'] = [1, 2, 3]
    f['hard'] = f['d']
    f['group/soft'] = h5py.SoftLink('/d')
    f['to group'] = h5py.SoftLink('group')
    f['dangling'] = h5py.SoftLink('nothing')
    f['outside'] = h5py.ExternalLink('g.h5', '/group')
    f['group/top'] = f['/']
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  EXPECT_EQ(mount.in("ls .h5/npy .h5/npy/group").out,
            ".h5/npy:\nd.npy\ngroup\nhard.npy\noutside\nto group\n\n.h5/npy/group:\nsoft.npy\ntop\n");
  EXPECT_EQ(mount.in("readlink .h5/npy/group/soft.npy '.h5/npy/to group'").out, "../d.npy\ngroup\n");
  H5MOUNT_CHECK(R"(
for name in ('d', 'hard', 'group/soft', 'to group/soft', 'group/top/d'):
    same(np.load(V + '/npy/' + name + '.npy'), np.array([1, 2, 3]))
same(np.load(V + '/npy/outside/there.npy'), np.array([1, 2]))
)");
}

TEST_F(ViewsTest, EveryListedNameOpensAndNoOther) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    names = ['a', 'a.npy', 'x' * 251, 'x' * 252, 'x' * 255, 'x' * 300, 'é' * 150, '%', '50%25', 'a\tb',
             ' ', "'", '*', '.hidden', 'tilde~0123456789abcdef', '.npy']
    for number, name in enumerate(names): f.create_dataset(name.encode(), data=number)
    f.create_group('b.npy/inside'); f['b'] = len(names)
    f.create_group('c.npy'); f['c.npy/d'] = len(names) + 1
    f.create_group('g' * 255); f['g' * 255 + '/e'] = len(names) + 2
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
seen = set()
for top, directories, files in os.walk(V + '/npy'):
    for name in files:
        assert len(name.encode()) <= 255 and name.endswith('.npy'), name
        seen.add(int(np.load(os.path.join(top, name))))
assert seen == set(range(19)), seen
assert os.path.isdir(V + '/npy/b.npy') and os.listdir(V + '/npy/b.npy') == ['inside']
assert [n for n in os.listdir(V + '/npy') if n.startswith('b~') and n.endswith('.npy')]
for name in ('b', 'c', 'none.npy', 'a.npy.npy.npy', '%41.npy', 'x' * 251, 'b~0000000000000000.npy',
             'b.npy/inside.npy'):
    assert error('npy/' + name) == 'ENOENT', name
)");
}

TEST_F(ViewsTest, DamageIsAnErrorForTheBytesThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(102400), chunks=(10240,), compression='gzip')
    info = f['d'].id.get_chunk_info(5)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for chunk in range(10):
    got = error('npy/d.npy', 4096 + chunk * 10240 * 8, 8)
    assert got == ('EIO' if chunk == 5 else None), (chunk, got)
)");
}

// A growing dataset moves nothing: only header and end change.
TEST_F(ViewsTest, NpyOfAGrowingDataset) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(1000), chunks=(300,), maxshape=(None,), compression='gzip')
f.create_dataset('wide', data=np.ones((10, 7)), chunks=(4, 4), maxshape=(None, 7))
)",
                R"(
old, new = 1000 + 777 * (n - 1), 1000 + 777 * n
f['d'].resize((new,)); f['d'][old:] = np.arange(old, new)
f['wide'].resize((10 + 5 * n, 7)); f['wide'][10 + 5 * (n - 1):] = n
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
held = open(V + '/npy/d.npy', 'rb')
for n in range(1, 10):
    advance(n)
    length = 1000 + 777 * n
    until(lambda: len(np.load(V + '/npy/d.npy')) == length, 'the array grows')
    same(np.load(V + '/npy/d.npy'), np.arange(length))
    same(np.load(V + '/npy/d.npy', mmap_mode='r'), np.arange(length))
    held.seek(0); bytes_ = held.read()
    until(lambda: os.fstat(held.fileno()).st_size == 4096 + 8 * length, 'the size of an open file')
    held.seek(0); assert held.read() == read('npy/d.npy')
    until(lambda: np.load(V + '/npy/wide.npy').shape == (10 + 5 * n, 7), 'rows')
    assert (np.load(V + '/npy/wide.npy')[10:] == np.repeat(np.arange(1, n + 1), 5)[:, None]).all()
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
