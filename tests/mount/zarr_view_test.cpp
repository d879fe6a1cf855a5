// /.h5/plain.zarr and /.h5/stored.zarr through the mount: what zarr-python and xarray open is what h5py and
// netCDF4 read.
#include "views.h"

namespace h5mount::test {
namespace {

constexpr const char* kZarr = R"(
import json, zarr
Z = V + '/plain.zarr'
def arrays(group, prefix=''):
    for name, array in group.arrays(): yield prefix + name, array
    for name, inner in group.groups(): yield from arrays(inner, prefix + name + '/')
# Strings of variable length come as str, and what NumPy calls padding is not stored.
def equal(name, array, dataset):
    want = dataset[()]
    if h5py.check_string_dtype(dataset.dtype) and dataset.dtype.kind == 'O':
        want = dataset.asstr()[()]
        assert array.shape == dataset.shape, name
        assert np.all(np.asarray(array[()]) == np.asarray(want)), name
        return
    have = np.asarray(array[()])
    want = np.asarray(want)
    if want.dtype.names and have.dtype != want.dtype:
        assert have.dtype.names == want.dtype.names, name
        assert all(np.array_equal(have[n], want[n]) for n in want.dtype.names), name
        return
    assert have.dtype == want.dtype, (name, have.dtype, want.dtype)
    assert have.shape == want.shape, (name, have.shape, want.shape)
    assert have.tobytes() == want.tobytes(), name
)";

class ZarrTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const { return ViewsTest::check(kZarr + statements); }
};

TEST_F(ZarrTest, EveryArrayIsWhatH5pyReads) {
  write(R"(
r = np.random.default_rng(1)
padded = np.dtype({'names': ['a', 'b', 'c'], 'formats': ['<i4', ('>f8', (2, 2)), 'S3'],
                   'offsets': [0, 8, 44], 'itemsize': 48})
rows = np.zeros(5, padded); rows['a'] = range(5); rows['b'] = r.random((5, 2, 2)); rows['c'] = b'xyz'
nested = np.dtype([('x', '<f4'), ('in', [('i', '<i2'), ('j', 'S2')])])
with h5py.File('f.h5', 'w') as f:
    for kind in ('i1', 'u2', 'i4', 'u8', 'f2', 'f4', 'f8'):
        for order in '<>':
            name = {'<': 'le_', '>': 'be_'}[order] + kind
            f[name] = np.arange(12, dtype=order + kind).reshape(3, 4)
    g = f.create_group('g/h')
    g.create_dataset('gzip', data=r.integers(0, 1000, (300, 400)), chunks=(64, 64), compression='gzip',
                     shuffle=True)
    g.create_dataset('cube', data=r.random((30, 20, 50)), chunks=(7, 20, 9), compression='lzf')
    g.create_dataset('plain_chunks', data=r.random((100, 30)), chunks=(10, 30))
    f.create_dataset('resizable', data=r.random(1000), chunks=(64,), maxshape=(None,), fletcher32=True)
    f.create_dataset('wide_chunk', data=np.arange(10), chunks=(1024,), maxshape=(None,))
    holes = f.create_dataset('holes', shape=(100, 100), chunks=(10, 10), dtype='i4', fillvalue=7)
    holes[20:30, 20:30] = 1
    f.create_dataset('never_written', shape=(50, 7), dtype='f4', fillvalue=2.5)
    f.create_dataset('large', data=np.arange(3 << 20, dtype='f8').reshape(-1, 1024))
    f['scalar'] = 3.5
    f['bool'] = np.array([True, False])
    f['complex'] = np.array([1 + 2j, 3], 'c8')
    f['empty'] = np.zeros((0, 3), 'i2')
    f['string'] = np.array([b'abc', b'de'], 'S5')
    f['padded'] = rows
    f['nested'] = np.array([(1.5, (2, b'ab')), (2.5, (3, b'c'))], nested)
    f['opaque'] = np.array([b'abcd'], 'V4')
    f['enum'] = np.array([0, 1, 1], h5py.enum_dtype({'A': 0, 'B': 1}, 'i1'))
    f.create_dataset('arrays', shape=(3,), dtype=np.dtype(('<i2', (2, 2))))
    f['arrays'][...] = np.arange(12).reshape(3, 2, 2)
    strings = f.create_dataset('strings', shape=(10,), dtype=h5py.string_dtype(), chunks=(4,))
    strings[:9] = ['', 'a', 'grün', 'x' * 1000, '∂', '5', '6', '7', '8']
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE); compact.set_layout(h5py.h5d.COMPACT)
    d = h5py.h5d.create(f.id, b'compact', h5py.h5t.STD_I32LE, h5py.h5s.create_simple((6,)), compact)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(6, dtype='<i4'))
    layout = h5py.VirtualLayout(shape=(10, 1000), dtype='f8')
    for i in range(9): layout[i] = h5py.VirtualSource(f['resizable'])
    f.create_virtual_dataset('virtual', layout, fillvalue=-1)
    # What Zarr has no type for.
    f['reference'] = np.array([f.ref], dtype=h5py.ref_dtype)
    f['null'] = h5py.Empty('f4')
    f.create_dataset('vlen', shape=(2,), dtype=h5py.vlen_dtype('i4'))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
with h5py.File(P, 'r') as f:
    expected = set()
    f.visititems(lambda name, o: expected.add(name) if isinstance(o, h5py.Dataset) else None)
    expected -= {'reference', 'null', 'vlen'}
    for group in (zarr.open_group(Z, 'r'), zarr.open_consolidated(Z, mode='r')):
        seen = dict(arrays(group))
        assert set(seen) == expected, set(seen) ^ expected
        for name, array in seen.items(): equal(name, array, f[name])
    # A chunk of the file is a chunk of the array, and every chunk has its file.
    assert seen['g/h/gzip'].chunks == (64, 64) and seen['resizable'].chunks == (64,)
    assert len(os.listdir(Z + '/holes')) == 102
    assert seen['wide_chunk'].chunks == (10,)  # netCDF's reader refuses a chunk beyond the extent
    # Others are cut into some MiB.
    assert 4 << 20 <= os.stat(Z + '/large/0.0').st_size <= 16 << 20, os.stat(Z + '/large/0.0').st_size
    assert error('plain.zarr/holes/00.0') == 'ENOENT' and error('plain.zarr/holes/10.0') == 'ENOENT'
    for top, _, files in os.walk(Z):
        for name in files:
            with open(os.path.join(top, name), 'rb') as file:
                size = os.fstat(file.fileno()).st_size
                content = file.read()
            assert len(content) == size, (top, name)
            if name.startswith('.z'):
                json.loads(content, parse_constant=lambda c: 1 / 0)
)");
}

TEST_F(ZarrTest, LinksAndNamesOfEveryKind) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['g/d'] = np.arange(3)
    f['g/same'] = f['g/d']
    f['soft'] = h5py.SoftLink('/g/d')
    f['to_group'] = h5py.SoftLink('g')
    f['g/up'] = f['/']
    f['nowhere'] = h5py.SoftLink('/no')
    f['elsewhere'] = h5py.ExternalLink('other.h5', '/x')
    for name in ('.zarray', '.zgroup', 'a\\b', '%5C', '.zz', 'n' * 300, 'grün', 'a b', '%2Ezarray'):
        f['names'].create_dataset(name, data=1) if 'names' in f else f.create_group('names').create_dataset(
            name, data=1)
    f['names/grün\U0001f600'] = 1
    f['names'].attrs['größe'] = 'ü\U0001f600'
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
names = set(os.listdir(Z)) - {'.zgroup', '.zattrs', '.zmetadata'}
assert names == {'g', 'soft', 'to_group', 'names'}, names
assert os.readlink(Z + '/to_group') == 'g' and os.path.islink(Z + '/g/up')
same(zarr.open_array(Z + '/soft', 'r')[:], np.arange(3))
same(zarr.open_array(Z + '/to_group/same', 'r')[:], np.arange(3))
shown = set(os.listdir(Z + '/names')) - {'.zgroup', '.zattrs'}
for name in ('%2Ezarray', '%2Ezgroup', 'a%5Cb', '%255C', '.zz', 'grün', 'a b', '%252Ezarray'):
    assert name in shown, (name, shown)
assert len(shown) == 10
for name in shown: assert zarr.open_array(Z + '/names/' + name, 'r')[()] == 1, name
assert dict(arrays(zarr.open_consolidated(Z, mode='r')))['names/grün\U0001f600'][()] == 1
assert zarr.open_consolidated(Z, mode='r')['names'].attrs['größe'] == 'ü\U0001f600'
keys = json.loads(read('plain.zarr/.zmetadata'))['metadata']
assert 'soft/.zarray' in keys and 'g/same/.zarray' in keys and not any('to_group' in k for k in keys)
assert set(os.listdir(Z + '/g')) == {'.zgroup', '.zattrs', 'd', 'same', 'up'}
)");
}

TEST_F(ZarrTest, XarrayReadsWhatNetcdfMeans) {
  write(R"(
import netCDF4
with netCDF4.Dataset('f.h5', 'w') as n:
    n.createDimension('time', None); n.createDimension('lat', 4); n.createDimension('chars', 5)
    t = n.createVariable('time', 'f8', ('time',)); t[:] = [0, 1, 2]; t.units = 'days since 2000-01-01'
    lat = n.createVariable('lat', 'f4', ('lat',)); lat[:] = [1, 2, 3, 4]
    v = n.createVariable('temp', 'i2', ('time', 'lat'), fill_value=-99, zlib=True)
    v.scale_factor = 0.5; v.set_auto_maskandscale(False)
    v[:] = [[0, 1, 2, 3], [4, -99, 6, 7], [8, 9, 10, 11]]
    z = n.createVariable('zeros', 'i4', ('lat',)); z[:] = 0
    x = n.createVariable('text', 'S1', ('lat', 'chars')); x[:] = b'a'
    chars = n.createVariable('chars', 'f4', ('lat',)); chars[:] = [4, 3, 2, 1]
    n.title = 'a title'; n.numbers = [1, 2]; n.one = np.float32(1.5); n.nan = np.nan
    g = n.createGroup('inner'); y = g.createVariable('y', 'f8', ('lat',)); y[:] = np.arange(4)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import netCDF4, warnings, xarray
warnings.simplefilter('error', RuntimeWarning)
keys = json.loads(read('plain.zarr/.zmetadata'))['metadata']
with netCDF4.Dataset(P) as n:
    n.set_auto_mask(False)
    for decode in (False, True):
        with xarray.open_zarr(Z, mask_and_scale=decode, decode_times=decode) as x:
            assert set(x.variables) == set(n.variables), (set(x.variables), set(n.variables))
            for name, variable in n.variables.items():
                assert x[name].dims == variable.dimensions, name
                if not decode:
                    variable.set_auto_maskandscale(False)
                    same(x[name].values, variable[:])
            assert x.attrs['title'] == 'a title' and list(x.attrs['numbers']) == [1, 2]
            assert x.attrs['one'] == 1.5 and '_NCProperties' not in x.attrs
            assert 'DIMENSION_LIST' not in x['temp'].attrs and 'CLASS' not in x['lat'].attrs
            if decode:
                assert np.isnan(x['temp'].values[1, 1]) and np.isnan(x['temp'].values).sum() == 1
                assert x['zeros'].dtype == 'i4' and (x['zeros'].values == 0).all()
    same(xarray.open_zarr(Z, group='inner', consolidated=False)['y'].values, np.arange(4.))
assert keys['inner/y/.zattrs']['_ARRAY_DIMENSIONS'] == ['lat']
assert keys['temp/.zarray']['fill_value'] == -99 and keys['zeros/.zarray']['fill_value'] is None
)");
}

TEST_F(ZarrTest, DatasetsWithoutScalesOpenTogether) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['a'] = np.zeros((4, 4)); f['b'] = np.arange(4); f['c'] = np.arange(7.); f['d'] = np.zeros((7, 4), 'i4')
    f['b'].attrs['CLASS'] = 'mine'; f['b'].attrs['x'] = np.nan
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import xarray
x = xarray.open_zarr(Z)
assert x['a'].dims[0] == x['b'].dims[0] == x['d'].dims[1] and x['a'].dims[0] != x['a'].dims[1]
assert x['c'].dims[0] == x['d'].dims[0]
assert x['b'].attrs['CLASS'] == 'mine' and np.isnan(x['b'].attrs['x'])
same(x['d'].values, np.zeros((7, 4), 'i4'))
)");
}

// h5py gives nothing behind the end of a string, whatever the writer left there.
TEST_F(ZarrTest, StringsEndWhereH5pyEndsThem) {
  write(kPaddedStrings);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(kLeaves + std::string(R"(
with h5py.File(P, 'r') as f:
    for root in ('/plain.zarr', '/stored.zarr'):
        seen = dict(arrays(zarr.open_consolidated(V + root, mode='r')))
        assert set(seen) == set(f)
        for name, array in seen.items():
            want, have = f[name][()], array[()]
            assert leaves(have) == leaves(want), (root, name, have, want)
    # What is NumPy's as it is stored stays the file's own.
    for name in ('terminated', 'padded', 'spaces', 'one'):
        own = seen[name + '_packed'].compressor
        assert (own is not None) == (name in ('padded', 'one')), (name, own)
)"));
}

TEST_F(ZarrTest, DamageStaysWithItsChunk) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    d = f.create_dataset('d', data=np.arange(1000), chunks=(100,), compression='gzip')
    chunk = d.id.get_chunk_info(4)
with open('f.h5', 'r+b') as f: f.seek(chunk.byte_offset); f.write(b'\xff' * chunk.size)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
assert error('plain.zarr/d/4') == 'EIO'
for i in range(10):
    if i != 4: same(np.frombuffer(read('plain.zarr/d/%d' % i), '<i8'), np.arange(100 * i, 100 * i + 100))
array = zarr.open_array(Z + '/d', 'r')
same(array[:400], np.arange(400))
try: array[:]; assert False
except OSError: pass
)");
}

TEST_F(ZarrTest, FollowsAFileThatGrows) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(1000), chunks=(300,), maxshape=(None,), compression='gzip')
)",
                R"(
f['d'].resize((2000,)); f['d'][1000:] = np.arange(1000, 2000)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
same(zarr.open_array(Z + '/d', 'r')[:], np.arange(1000))
advance(1)
until(lambda: zarr.open_array(Z + '/d', 'r').shape == (2000,), 'the shape')
until(lambda: np.array_equal(zarr.open_array(Z + '/d', 'r')[:], np.arange(2000)), 'the rows')
same(zarr.open_array(Z + '/d', 'r')[:], np.arange(2000))
assert len(os.listdir(Z + '/d')) == 2 + 7
finish()
)");
}

// A tool of numcodecs, written by others, decodes every chunk.
TEST_F(ZarrTest, StoredChunksAreTheFilesOwnBytes) {
  write(R"(
r = np.random.default_rng(2)
data = np.cumsum(r.integers(0, 9, (300, 200)), axis=1).astype('<i4')
with h5py.File('f.h5', 'w') as f:
    def make(name, **how): return f.create_dataset(name, data=data, chunks=(64, 64), **how)
    make('gzip', compression='gzip'); make('shuffled', compression='gzip', shuffle=True)
    make('checked', compression='gzip', shuffle=True, fletcher32=True); make('only_shuffle', shuffle=True)
    make('only_checked', fletcher32=True); make('lzf', compression='lzf'); make('unfiltered')
    f.create_dataset('big_endian', data=data.astype('>f8'), chunks=(300, 7), compression='gzip', shuffle=True)
    f.create_dataset('absent', shape=(100, 100), chunks=(30, 30), dtype='f8', fillvalue=1.5,
                     compression='gzip', shuffle=True)
    f['absent'][:10, :10] = 3
    # A filter mask: the first chunk was not compressed, but shuffled; the second neither.
    masked = f.create_dataset('masked', shape=(64, 192), dtype='<i4', chunks=(64, 64), compression='gzip',
                              shuffle=True)
    masked[...] = data[:64, :192]
    first = np.ascontiguousarray(data[:64, :64])
    masked.id.write_direct_chunk((0, 0), first.view('u1').reshape(-1, 4).T.tobytes(), 2)
    masked.id.write_direct_chunk((0, 64), np.ascontiguousarray(data[:64, 64:128]).tobytes(), 3)
    # The checksum in front of the compression.
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE); plist.set_chunk((64, 64)); plist.set_fletcher32()
    plist.set_deflate(5)
    d = h5py.h5d.create(f.id, b'checked_first', h5py.h5t.STD_I32LE, h5py.h5s.create_simple((300, 200)), plist)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    f['contiguous'] = data; f['text'] = 'abc'
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import shutil
S = V + '/stored.zarr'
place = os.path.dirname(P) + '/copy.zarr'
shutil.copytree(S, place)
own = total = 0
with h5py.File(P, 'r') as f, open(P, 'rb') as raw:
    for root in (S, place):
        seen = dict(arrays(zarr.open_consolidated(root, mode='r')))
        assert set(seen) == set(f)
        for name, array in seen.items(): equal(name, array, f[name])
    for name in ('gzip', 'shuffled', 'checked', 'big_endian'):
        array, dataset = seen[name], f[name]
        assert array.compressor.codec_id == 'zlib' and array.chunks == dataset.chunks
        for i in range(dataset.id.get_num_chunks()):
            chunk = dataset.id.get_chunk_info(i)
            raw.seek(chunk.byte_offset)
            bytes_ = raw.read(chunk.size)
            key = '.'.join(str(o // c) for o, c in zip(chunk.chunk_offset, array.chunks))
            assert read('stored.zarr/%s/%s' % (name, key)) == (bytes_[:-4] if name == 'checked' else bytes_)
    for name in ('lzf', 'checked_first', 'contiguous', 'unfiltered'): assert seen[name].compressor is None
)");
}

// Filters that h5py does not have by itself; frames around what is not compressed are those of the codecs.
TEST_F(ZarrTest, StoredChunksOfOtherCompressors) {
  write(R"(
import numcodecs, struct
data = np.cumsum(np.ones((60, 100), '<i8'), axis=1).astype('<i4')
noise = np.random.default_rng(3).integers(0, 1 << 30, (30, 50)).astype('<i4')
def lz4(chunk):
    packed = bytes(numcodecs.LZ4().encode(chunk))[4:]
    if len(packed) >= len(chunk): packed = chunk
    return struct.pack('>QII', len(chunk), len(chunk), len(packed)) + packed
codecs = {'zstd': (32015, lambda c: bytes(numcodecs.Zstd().encode(c))), 'lz4': (32004, lz4),
          'bz2': (307, lambda c: bytes(numcodecs.BZ2().encode(c))),
          'blosc': (32001, lambda c: bytes(numcodecs.Blosc('lz4', 5, 1).encode(np.frombuffer(c, '<i4'))))}
with h5py.File('f.h5', 'w') as f:
    for name, (number, encode) in codecs.items():
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE); plist.set_chunk((30, 50))
        try: plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, ())
        except ValueError: continue
        d = h5py.Dataset(h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE,
                                         h5py.h5s.create_simple((60, 150)), plist))
        for at in ((0, 0), (30, 0), (0, 50)):
            part = np.ascontiguousarray(data[at[0]:at[0] + 30, at[1]:at[1] + 50])
            d.id.write_direct_chunk(at, encode(part.tobytes()), 0)
        d.id.write_direct_chunk((30, 50), encode(noise.tobytes()), 0)
        d.id.write_direct_chunk((0, 100), noise.tobytes(), 1)
want = np.zeros((60, 150), '<i4'); want[:30, :100] = data[:30]; want[30:, :50] = data[30:, :50]
want[30:, 50:100] = noise; want[:30, 100:] = noise
np.save('want.npy', want)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
want = np.load(os.path.dirname(P) + '/want.npy')
names = set()
for store in ('plain.zarr', 'stored.zarr'):
    for name, array in zarr.open_group(V + '/' + store, 'r').arrays():
        same(array[:], want); names.add(name)
        assert store == 'plain.zarr' or array.compressor.codec_id == name
assert names, 'no filter could be set'
)");
}

}  // namespace
}  // namespace h5mount::test
