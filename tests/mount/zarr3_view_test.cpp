// /.h5/v3.zarr through the mount, read by a reader of the specification's words alone (Debian 12 has none of
// version 3), held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

// https://zarr-specs.readthedocs.io/en/latest/v3/core and the registry of extensions, and nothing beyond:
// what they do not allow is an error.
constexpr const char* kZarr3 = R"(
import base64, itertools, json, struct
Z = V + '/v3.zarr'
def no_constant(name): raise ValueError(name)
def load(path):
    with open(path, 'rb') as f: content = f.read()
    assert os.stat(path).st_size == len(content), path
    return json.loads(content.decode('utf-8'), parse_constant=no_constant)
CORE = {'bool': '?', 'complex64': 'c8', 'complex128': 'c16', 'float16': 'f2', 'float32': 'f4',
        'float64': 'f8'}
for size in (1, 2, 4, 8):
    CORE['int%d' % (8 * size)] = 'i%d' % size
    CORE['uint%d' % (8 * size)] = 'u%d' % size
def dtype_of(data_type, endian):
    order = {'little': '<', 'big': '>', None: '|'}[endian]
    if isinstance(data_type, str):
        if data_type in CORE:
            plain = np.dtype(CORE[data_type])
            assert endian or plain.itemsize == 1, 'no byte order'
            return plain.newbyteorder(order) if endian else plain
        assert data_type[0] == 'r' and int(data_type[1:]) % 8 == 0, data_type
        return np.dtype('V%d' % (int(data_type[1:]) // 8))
    assert set(data_type) == {'name', 'configuration'}
    how = data_type['configuration']
    if data_type['name'] == 'null_terminated_bytes':
        assert set(how) == {'length_bytes'}
        return np.dtype('S%d' % how['length_bytes'])
    if data_type['name'] in ('numpy.datetime64', 'numpy.timedelta64'):
        assert set(how) == {'unit', 'scale_factor'}
        kind = 'M' if 'date' in data_type['name'] else 'm'
        return np.dtype('%s%s8[%d%s]' % (order, kind, how['scale_factor'], how['unit']))
    assert data_type['name'] == 'struct' and set(how) == {'fields'}
    names = [field['name'] for field in how['fields']]
    assert len(set(names)) == len(names) and '' not in names
    assert all(set(field) == {'name', 'data_type'} for field in how['fields'])
    # A field of one byte needs no byte order.
    inner = [dtype_of(f['data_type'], endian if CORE.get(str(f['data_type']), 'x2')[1:] != '1' else None)
             for f in how['fields']]
    return np.dtype(list(zip(names, inner)))
def fill_of(value, dtype):
    if dtype.names: return tuple(fill_of(value[name], dtype[name]) for name in dtype.names)
    if dtype.kind == 'b': assert isinstance(value, bool); return value
    if dtype.kind in 'iuMm': assert type(value) is int; return value
    if dtype.kind == 'f':
        assert value in ('NaN', 'Infinity', '-Infinity') or type(value) is float
        return float(value)
    if dtype.kind == 'c': return complex(*(float(part) for part in value))
    if dtype.kind == 'S': return base64.b64decode(value, validate=True)
    assert len(value) == dtype.itemsize
    return np.frombuffer(bytes(value), dtype)[0]
REQUIRED = {'zarr_format', 'node_type', 'shape', 'data_type', 'chunk_grid', 'chunk_key_encoding',
            'fill_value', 'codecs'}
class Array:
    def __init__(self, meta, place):
        assert REQUIRED <= set(meta) <= REQUIRED | {'attributes', 'dimension_names'}, set(meta)
        assert meta['zarr_format'] == 3 and meta['node_type'] == 'array'
        self.meta, self.place, self.shape = meta, place, tuple(meta['shape'])
        grid = meta['chunk_grid']
        assert grid['name'] == 'regular' and set(grid['configuration']) == {'chunk_shape'}
        self.chunks = tuple(grid['configuration']['chunk_shape'])
        assert len(self.chunks) == len(self.shape) and min(self.chunks, default=1) > 0
        encoding = meta['chunk_key_encoding']
        assert encoding['name'] == 'default' and encoding['configuration']['separator'] in ('.', '/')
        self.separator = encoding['configuration']['separator']
        assert len(meta['dimension_names']) == len(self.shape)
        assert all(isinstance(name, str) for name in meta['dimension_names'])
        self.names, self.attrs = meta['dimension_names'], meta['attributes']
        assert len(meta['codecs']) == 1
        codec = meta['codecs'][0]
        self.strings = codec['name'] == 'vlen-utf8'
        if self.strings:
            assert meta['data_type'] == 'string' and isinstance(meta['fill_value'], str)
            self.dtype = np.dtype(object)
        else:
            assert codec['name'] == 'bytes'
            self.dtype = dtype_of(meta['data_type'], codec.get('configuration', {}).get('endian'))
            self.fill = fill_of(meta['fill_value'], self.dtype)
    def key(self, at): return self.separator.join(['c'] + [str(i) for i in at])
    def grid(self): return itertools.product(*(range(-(-s // c)) for s, c in zip(self.shape, self.chunks)))
    def decode(self, content):
        count = int(np.prod(self.chunks, dtype=int))
        if not self.strings:
            assert len(content) == count * self.dtype.itemsize, (len(content), count, self.dtype)
            return np.frombuffer(content, self.dtype).reshape(self.chunks)
        out, at = np.empty(count, object), 4
        assert struct.unpack_from('<I', content)[0] == count
        for i in range(count):
            length, = struct.unpack_from('<I', content, at)
            out[i] = content[at + 4:at + 4 + length].decode('utf-8', 'surrogateescape'); at += 4 + length
        assert at == len(content)
        return out.reshape(self.chunks)
    def __getitem__(self, everything):
        out = np.empty(self.shape, self.dtype)
        for at in self.grid():
            path = os.path.join(self.place, self.key(at))
            with open(path, 'rb') as f: content = f.read()
            assert os.stat(path).st_size == len(content)
            box = tuple(slice(i * c, min((i + 1) * c, s)) for i, c, s in zip(at, self.chunks, self.shape))
            out[box] = self.decode(content)[tuple(slice(0, b.stop - b.start) for b in box)]
        return out
def store(root=None):
    """Paths to arrays and groups' attributes, by listing; held against the consolidated metadata."""
    arrays, groups = {}, {}
    root = root or Z
    whole = load(root + '/zarr.json')
    def enter(place, path):
        meta = load(place + '/zarr.json')
        if path: assert whole['consolidated_metadata']['metadata'][path] == {**meta, **(
            {'consolidated_metadata': {'kind': 'inline', 'must_understand': False, 'metadata': {}}}
            if meta['node_type'] == 'group' else {})}, path
        if meta['node_type'] == 'array':
            arrays[path] = array = Array(meta, place)
            assert set(os.listdir(place)) == {'zarr.json'} | {array.key(at) for at in array.grid()}, path
            return
        members = {'zarr_format', 'node_type', 'attributes'} | (set() if path else {'consolidated_metadata'})
        assert set(meta) == members
        groups[path] = meta['attributes']
        for name in os.listdir(place):
            assert not name.startswith('__') and name.strip('.'), name
            if name != 'zarr.json' and not os.path.islink(os.path.join(place, name)):
                enter(os.path.join(place, name), path + '/' + name if path else name)
    enter(root, '')
    inline = whole['consolidated_metadata']
    assert inline['kind'] == 'inline' and inline['must_understand'] is False
    assert set(inline['metadata']) == (set(arrays) | set(groups)) - {''}
    return arrays, groups
def equal(name, array, dataset):
    want = dataset.asstr(errors='surrogateescape')[()] if array.strings else dataset[()]
    want, have = np.asarray(want), array[...]
    assert have.shape == want.shape, (name, have.shape, want.shape)
    if array.strings: assert np.all(have == want), name; return
    if want.dtype.names and have.dtype != want.dtype:  # packed, little-endian
        assert have.dtype.names == want.dtype.names, name
        assert all(np.array_equal(have[n], want[n]) for n in want.dtype.names), name
        return
    assert have.dtype == want.dtype or want.dtype.kind == 'V', (name, have.dtype, want.dtype)
    assert have.tobytes() == want.tobytes(), name
)";

class Zarr3Test : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const { return ViewsTest::check(kZarr3 + statements); }
};

TEST_F(Zarr3Test, EveryArrayIsWhatH5pyReads) {
  write(R"(
r = np.random.default_rng(1)
padded = np.dtype({'names': ['a', 'b', 'c'], 'formats': ['<i4', '>f8', 'S3'], 'offsets': [0, 8, 20],
                   'itemsize': 24})
rows = np.zeros(5, padded); rows['a'] = range(5); rows['b'] = r.random(5); rows['c'] = b'xyz'
nested = np.dtype([('x', '>f4'), ('in', [('i', '>i2'), ('j', 'S2'), ('k', '>c8')]), ('t', '|u1')])
with h5py.File('f.h5', 'w') as f:
    for kind in ('i1', 'u2', 'i4', 'u8', 'f2', 'f4', 'f8', 'c8', 'c16'):
        for order in '<>':
            f[{'<': 'le_', '>': 'be_'}[order] + kind] = np.arange(12).astype(order + kind).reshape(3, 4)
    g = f.create_group('g/h')
    g.create_dataset('gzip', data=r.integers(0, 1000, (300, 400)), chunks=(64, 64), compression='gzip',
                     shuffle=True)
    g.create_dataset('cube', data=r.random((30, 20, 50)), chunks=(7, 20, 9), compression='lzf')
    f.create_dataset('resizable', data=r.random(1000), chunks=(64,), maxshape=(None,), fletcher32=True)
    holes = f.create_dataset('holes', shape=(100, 100), chunks=(10, 10), dtype='i4', fillvalue=7)
    holes[20:30, 20:30] = 1
    f.create_dataset('never_written', shape=(50, 7), dtype='>f4', fillvalue=2.5)
    f.create_dataset('nan', shape=(2,), dtype='f4', fillvalue=np.nan)
    f.create_dataset('filled_text', shape=(2,), dtype='S4', fillvalue=b'ab')
    f.create_dataset('filled_rows', shape=(2,), dtype=padded, fillvalue=np.array((1, 2.5, b'q'), padded))
    f.create_dataset('large', data=np.arange(3 << 20, dtype='f8').reshape(-1, 1024))
    f['scalar'] = 3.5
    f['bool'] = np.array([True, False])
    f['empty'] = np.zeros((0, 3), 'i2')
    f['string'] = np.array([b'abc', b'de'], 'S5')
    f['padded'] = rows
    f['nested'] = np.array([(1.5, (2, b'ab', 1j), 3), (2.5, (3, b'c', 2), 4)], nested)
    f['bytes'] = np.array([(1, 2), (3, 4)], [('a', 'u1'), ('b', 'i1')])
    f['opaque'] = np.array([b'abcd'], 'V4')
    f['enum'] = np.array([0, 1, 1], h5py.enum_dtype({'A': 0, 'B': 1}, '>i2'))
    times = np.array(['2026-01-01', 'NaT'], 'M8[ns]')
    f['times'] = times.astype(h5py.opaque_dtype(times.dtype))
    f.create_dataset('arrays', shape=(3,), dtype=np.dtype(('>i2', (2, 2))))
    f['arrays'][...] = np.arange(12).reshape(3, 2, 2)
    f.create_dataset('wide_arrays', shape=(1,), dtype=np.dtype(('u1', (3 << 20,))), fillvalue=None)
    f['most_raw'] = np.zeros(1, 'V65536')
    strings = f.create_dataset('strings', shape=(10,), dtype=h5py.string_dtype(), chunks=(4,))
    strings[:9] = ['', 'a', 'grün', 'x' * 1000, '∂', '5', '6', '7', '8']
    layout = h5py.VirtualLayout(shape=(10, 1000), dtype='f8')
    for i in range(9): layout[i] = h5py.VirtualSource(f['resizable'])
    f.create_virtual_dataset('virtual', layout, fillvalue=-1)
    f.attrs['größe'] = 'ü\U0001f600'; f['g'].attrs['list'] = [1, 2]; f['nan'].attrs['nan'] = [np.nan, np.inf]
    # What Zarr has no type for.
    f['reference'] = np.array([f.ref], dtype=h5py.ref_dtype)
    f['null'] = h5py.Empty('f4')
    f.create_dataset('vlen', shape=(2,), dtype=h5py.vlen_dtype('i4'))
    f['too_raw'] = np.zeros(1, 'V65537')
    f.create_dataset('array_member', shape=(2,), dtype=[('a', 'i4', (2,))])
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
arrays, groups = store()
with h5py.File(P, 'r') as f:
    expected = set()
    f.visititems(lambda name, o: expected.add(name) if isinstance(o, h5py.Dataset) else None)
    expected -= {'reference', 'null', 'vlen', 'array_member', 'too_raw'}
    assert set(arrays) == expected, set(arrays) ^ expected
    for name, array in arrays.items(): equal(name, array, f[name])
assert groups == {'': {'größe': 'ü\U0001f600'}, 'g': {'list': [1, 2]}, 'g/h': {}}, groups
assert arrays['nan'].attrs == {'nan': ['NaN', 'Infinity']}
assert arrays['g/h/gzip'].chunks == (64, 64) and arrays['resizable'].chunks == (64,)
assert arrays['holes'].fill == 7 and arrays['never_written'].fill == 2.5 and np.isnan(arrays['nan'].fill)
assert arrays['filled_text'].fill == b'ab' and arrays['filled_rows'].fill == (1, 2.5, b'q')
assert arrays['times'].dtype == np.dtype('M8[ns]') and arrays['opaque'].meta['data_type'] == 'r32'
assert arrays['scalar'].key(()) == 'c' and os.listdir(Z + '/scalar') == ['zarr.json', 'c']
assert 4 << 20 <= os.stat(Z + '/large/c.0.0').st_size <= 16 << 20
for name in ('c.00.0', 'c.10.0', '0.0', 'c', 'c.0', 'c.0.0.0', 'd.0.0', '.zarray'):
    assert error('v3.zarr/holes/' + name) == 'ENOENT', name
assert error('v3.zarr/.zgroup') == 'ENOENT' and error('v3.zarr/scalar/c.0') == 'ENOENT'
)");
}

TEST_F(Zarr3Test, LinksAndNamesOfEveryKind) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['g/d'] = np.arange(3)
    f['g/same'] = f['g/d']
    f['soft'] = h5py.SoftLink('/g/d')
    f['to_group'] = h5py.SoftLink('g')
    f['g/up'] = f['/']
    f['nowhere'] = h5py.SoftLink('/no')
    f['elsewhere'] = h5py.ExternalLink('other.h5', '/x')
    names = f.create_group('names')
    for name in ('zarr.json', '__x', '___', '...', 'a\\b', '%5F_x', '%7Aarr.json', '_x', '.zarray', 'c',
                 'grün', 'n' * 300): names.create_dataset(name, data=1)
    names.create_group('__inner')['d'] = 2
    f['reserved'] = h5py.SoftLink('/names/__inner')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
arrays, groups = store()
assert set(os.listdir(Z)) == {'zarr.json', 'g', 'soft', 'to_group', 'names', 'reserved'}
assert os.readlink(Z + '/to_group') == 'g' and os.path.islink(Z + '/g/up')
assert os.path.exists(Z + '/reserved/d/c'), os.readlink(Z + '/reserved')
assert set(groups) == {'', 'g', 'names', 'names/%5F_inner'}
for name in ('soft', 'g/d', 'g/same'): same(arrays[name][...], np.arange(3))
shown = {name[6:] for name in arrays if name.startswith('names/')} - {'%5F_inner/d'}
assert len(shown) == 12 and all(arrays['names/' + name][...] == 1 for name in shown)
long = [name for name in shown if len(name) == 255]
assert shown == {'%7Aarr.json', '%5F_x', '%5F__', '%2E..', 'a%5Cb', '%255F_x', '%257Aarr.json', '_x',
                 '.zarray', 'c', 'grün', *long}, shown
for name in ('__x', '...', '%5Fx', '%2Ezarray', '%63', 'n' * 300, '%7Aarr.jsom'):
    assert error('v3.zarr/names/' + name + '/zarr.json') in ('ENOENT', 'ENAMETOOLONG'), name
)");
}

TEST_F(Zarr3Test, CarriesWhatNetcdfMeans) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['time'] = np.arange(3.); f['lat'] = np.arange(4, dtype='f4')
    f['time'].make_scale('time'); f['lat'].make_scale('lat')
    f.create_dataset('hidden', data=np.zeros(7, 'f4')).make_scale(
        'This is a netCDF dimension but not a netCDF variable.         7')
    def variable(name, dtype, fill):
        d = f.create_dataset(name, data=np.arange(12).reshape(3, 4).astype(dtype))
        d.dims[0].attach_scale(f['time']); d.dims[1].attach_scale(f['lat'])
        if fill is not None: d.attrs['_FillValue'] = fill
        d.attrs['units'] = 'K'
    variable('f4', 'f4', np.array([-99.5], 'f4'))
    variable('nan', 'f8', np.float64(np.nan))
    variable('i2', '>i2', np.array([-99], '>i2'))
    variable('u8', 'u8', np.uint64(2 ** 64 - 1))
    variable('whole', 'i4', np.float64(-1e3))
    variable('half', 'i4', np.float32(0.5))
    variable('outside', 'u1', np.int16(-1))
    variable('far', 'i1', np.int32(128))
    variable('complex', 'c8', np.complex64(1 - 2j))
    variable('text', 'S1', np.bytes_(b'x'))
    variable('word', 'f4', 'none')
    variable('none', 'f4', None)
    f['plain'] = np.zeros((4, 9, 9))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
arrays, groups = store()
assert 'hidden' not in arrays
def double(text): return struct.unpack('<d', base64.b64decode(text, validate=True))[0]
fill = {}
for name, array in arrays.items():
    if len(array.shape) == 2:
        assert array.names == ['time', 'lat'], name
        assert array.attrs.pop('units') == 'K'
        fill[name] = array.attrs.pop('_FillValue', None)
    assert array.attrs == {}, (name, array.attrs)
assert arrays['plain'].names == ['lat', 'phony_dim_3', 'phony_dim_4'], arrays['plain'].names  # as netCDF-C
assert arrays['time'].names == ['time']
assert double(fill['f4']) == -99.5 and np.isnan(double(fill['nan']))
assert [double(part) for part in fill['complex']] == [1, -2]
assert fill['i2'] == -99 and fill['u8'] == 2 ** 64 - 1
assert fill['whole'] == -1000 and type(fill['whole']) is int
# A reader would take these for other numbers, or could not open the array.
for name in ('half', 'outside', 'far', 'text', 'word', 'none'): assert fill[name] is None, name
assert all(array.meta['fill_value'] in (0, 0.0, [0.0, 0.0], '') for array in arrays.values())
)");
}

TEST_F(Zarr3Test, StringsEndWhereH5pyEndsThem) {
  write(kPaddedStrings);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(kLeaves + std::string(R"(
arrays, groups = store()
assert {'terminated', 'spaces_packed', 'terminated_array', 'terminated_rows'} <= set(arrays), set(arrays)
with h5py.File(P, 'r') as f:
    for name, array in arrays.items(): assert leaves(array[...]) == leaves(f[name][()]), name
)"));
}

TEST_F(Zarr3Test, FollowsAFileThatGrows) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(1000), chunks=(300,), maxshape=(None,), compression='gzip')
)",
                R"(
f['d'].resize((2000,)); f['d'][1000:] = np.arange(1000, 2000)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
def now(): return Array(load(Z + '/d/zarr.json'), Z + '/d')[...]
same(now(), np.arange(1000))
advance(1)
until(lambda: np.array_equal(now(), np.arange(2000)), 'the array grows')
same(now(), np.arange(2000))
assert load(Z + '/zarr.json')['consolidated_metadata']['metadata']['d']['shape'] == [2000]
assert len(os.listdir(Z + '/d')) == 1 + 7
finish()
)");
}

TEST_F(Zarr3Test, DamageStaysWithItsChunk) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    d = f.create_dataset('d', data=np.arange(1000), chunks=(100,), compression='gzip')
    chunk = d.id.get_chunk_info(4)
with open('f.h5', 'r+b') as f: f.seek(chunk.byte_offset); f.write(b'\xff' * chunk.size)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
assert error('v3.zarr/d/c.4') == 'EIO'
for i in range(10):
    if i != 4: same(np.frombuffer(read('v3.zarr/d/c.%d' % i), '<i8'), np.arange(100 * i, 100 * i + 100))
)");
}

}  // namespace
}  // namespace h5mount::test
