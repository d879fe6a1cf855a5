// /.h5/tiff through the mount: held against h5py by a strict reader of the specification's words, and by
// Pillow and GDAL where these are there.
#include "views.h"

namespace h5mount::test {
namespace {

constexpr const char* kTiff = R"(
import struct
SIZES = {3: ('H', 2), 4: ('I', 4), 5: ('II', 8), 16: ('Q', 8)}
class Tiff:
    """TIFF 6.0 and BigTIFF: every field is checked."""
    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.fd).st_size
        assert self.size == os.stat(path).st_size
        head = self.at(0, 16)
        self.order = {b'II': '<', b'MM': '>'}[head[:2]]
        version, = struct.unpack_from(self.order + 'H', head, 2)
        self.big = version == 43
        assert self.big or version == 42
        if self.big: assert struct.unpack_from(self.order + 'HH', head, 4) == (8, 0)
        assert self.big == (self.size >= 1 << 32)
        self.first, = struct.unpack_from(self.order + ('Q' if self.big else 'I'), head, 8 if self.big else 4)
    def at(self, offset, length):
        assert offset + length <= self.size, (offset, length, self.size)
        return os.pread(self.fd, length, offset)
    def directory(self, place):
        """The fields, and the place of the next directory."""
        assert place % 2 == 0
        entry, count_bytes, inline = (20, 8, 8) if self.big else (12, 2, 4)
        count, = struct.unpack(self.order + ('Q' if self.big else 'H'), self.at(place, count_bytes))
        content = self.at(place + count_bytes, count * entry + inline)
        fields, last = {}, 0
        for i in range(count):
            part = content[i * entry:(i + 1) * entry]
            tag, kind = struct.unpack_from(self.order + 'HH', part)
            number, = struct.unpack_from(self.order + ('Q' if self.big else 'I'), part, 4)
            assert tag > last, 'not ascending'
            last = tag
            letters, size = SIZES[kind]
            value = part[-inline:]
            if number * size > inline:
                where, = struct.unpack(self.order + ('Q' if self.big else 'I'), value)
                assert where % 2 == 0
                value = self.at(where, number * size)
            else: assert not any(value[number * size:]), 'padding'
            fields[tag] = struct.unpack(self.order + letters * number, value[:number * size])
        return fields, struct.unpack(self.order + ('Q' if self.big else 'I'), content[-inline:])[0]
    def pages(self):
        place = self.first
        while place:
            fields, place = self.directory(place)
            yield fields
    def image(self, fields):
        (width,), (height,), (samples,) = fields[256], fields[257], fields[277]
        assert fields[259] == fields[284] == fields[296] == (1,) and fields[278] == (height,)
        assert fields[282] == fields[283] == (1, 1)
        bits = fields[258]
        assert len(bits) == samples and len(set(bits)) == 1
        kind = {1: 'u', 2: 'i', 3: 'f'}[fields.get(339, (1,))[0]]
        assert samples in (1, 3, 4) and (fields.get(338) == (2,)) == (samples == 4)
        assert fields[262] == ((3,) if 320 in fields else (2,) if samples > 1 else (1,))
        dtype = np.dtype('%s%s%d' % (self.order, kind, bits[0] // 8))
        (offset,), (length,) = fields[273], fields[279]
        shape = (height, width) if samples == 1 else (height, width, samples)
        assert length == dtype.itemsize * np.prod(shape, dtype=int)
        return np.frombuffer(self.at(offset, length), dtype).reshape(shape)
    def stack(self):
        images = [self.image(fields) for fields in self.pages()]
        return np.array(images, images[0].dtype)
def images(want):
    """A dataset's pages."""
    colour = want.ndim > 2 and want.shape[-1] in (3, 4) and want.dtype == 'u1'
    return want.reshape((-1,) + want.shape[-3 if colour else -2:])
def equal(name, want):
    have = Tiff(V + '/' + name).stack()
    want = images(np.asarray(want))
    assert have.shape == want.shape, (name, have.shape, want.shape)
    assert have.dtype == want.dtype or want.dtype.itemsize == 1, (name, have.dtype, want.dtype)
    assert have.tobytes() == want.tobytes(), name
try: from PIL import Image
except ImportError: Image = None
try: from osgeo import gdal; gdal.UseExceptions()
except ImportError: gdal = None
)";

class TiffTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const { return ViewsTest::check(kTiff + statements); }
};

constexpr const char* kImages = R"(
r = np.random.default_rng(4)
with h5py.File('f.h5', 'w') as f:
    for kind in ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8', 'f2', 'f4', 'f8'):
        for order in '<>':
            f[{'<': 'le_', '>': 'be_'}[order] + kind] = (r.random((5, 7)) * 100).astype(order + kind)
    f['g/stack'] = r.integers(0, 1 << 16, (4, 30, 20)).astype('>u2')
    f['g/deep'] = r.random((2, 3, 6, 5)).astype('f4')
    f['rgb'] = r.integers(0, 256, (9, 8, 3), 'u1'); f['rgba'] = r.integers(0, 256, (9, 8, 4), 'u1')
    f['rgb_stack'] = r.integers(0, 256, (5, 9, 8, 3), 'u1')
    f['not_rgb'] = r.integers(0, 256, (9, 8, 3)).astype('i1')
    f.create_dataset('tiles', data=r.integers(0, 99, (300, 200)).astype('i2'), chunks=(64, 64),
                     compression='gzip')
    f.create_dataset('holes', shape=(40, 30), chunks=(10, 30), dtype='f4')[10:20] = 1
    f['bool'] = r.random((3, 3)) > .5
    f['enum'] = r.integers(0, 2, (3, 3)).astype(h5py.enum_dtype({'A': 0, 'B': 1}, '>i2'))
    f['one'] = np.zeros((1, 1), 'u1')
    # No images.
    f['line'] = np.arange(3); f['scalar'] = 1; f['none'] = np.zeros((0, 3)); f['null'] = h5py.Empty('f4')
    f['complex'] = np.zeros((2, 2), 'c8'); f['text'] = np.zeros((2, 2), 'S2')
    f['rows'] = np.zeros((2, 2), [('a', 'i4'), ('image', 'u2')])
    f.create_dataset('vlen', shape=(2, 2), dtype=h5py.string_dtype())
    f.create_dataset('arrays', shape=(2, 2), dtype=np.dtype(('i4', (2,))))
    f['long'] = np.zeros((2, 2), np.longdouble)
    f['soft'] = h5py.SoftLink('/tiles')
)";

TEST_F(TiffTest, PagesAreWhatH5pyReads) {
  write(kImages);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
none = {'line', 'scalar', 'none', 'null', 'complex', 'text', 'rows', 'vlen', 'arrays', 'long'}
with h5py.File(P, 'r') as f:
    shown = {k + ('' if k == 'g' else '.tif') for k in f if k not in none}
    assert set(os.listdir(V + '/tiff')) == shown
    names = []
    f.visititems(lambda name, o: names.append(name) if isinstance(o, h5py.Dataset) else None)
    for name in set(names) - none: equal('tiff/' + name + '.tif', f[name][()])
    for name in none: assert error('tiff/' + name + '.tif') == 'ENOENT', name
    assert os.readlink(V + '/tiff/soft.tif') == 'tiles.tif'
    # Every range can be read alone.
    whole = read('tiff/g/stack.tif')
    assert len(whole) == os.stat(V + '/tiff/g/stack.tif').st_size
    fd = os.open(V + '/tiff/g/stack.tif', os.O_RDONLY)
    for offset in (0, 7, 4000, 4095, 4097, 4096 + 4800 - 3, len(whole) - 900, len(whole) - 3):
        for length in (1, 13, 500, 9000):
            assert os.pread(fd, length, offset) == whole[offset:offset + length], (offset, length)
    # Parts of datasets.
    equal('slice/g/deep/1,:,::2,1:.tif', f['g/deep'][1, :, ::2, 1:])
    equal('slice/rgb_stack/2.tif', f['rgb_stack'][2])
    equal('fields/rows/image.tif', f['rows']['image'])
    assert error('slice/g/stack/1,2.tif') == 'ENOENT' and error('fields/rows/b.tif') == 'ENOENT'
    # A hole of the dataset is a hole of the file; what is around it is data.
    fd = os.open(V + '/tiff/holes.tif', os.O_RDONLY)
    ends = [os.lseek(fd, at, os.SEEK_DATA) for at in (0, 4096, 4096 + 2400, 4096 + 4800)]
    assert ends[0] == 0 and ends[1] == 4096 + 1200 and ends[3] == 4096 + 4800, ends
    assert os.lseek(fd, 0, os.SEEK_HOLE) == 4096 and os.lseek(fd, 5000 + 1200, os.SEEK_HOLE) == 4096 + 2400
    assert os.lseek(fd, 4096 + 4800, os.SEEK_HOLE) == os.fstat(fd).st_size
)");
}

TEST_F(TiffTest, OtherReadersAgree) {
  write(kImages);
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
with h5py.File(P, 'r') as f:
    known = ('le_u1', 'le_u2', 'le_i4', 'le_f4', 'rgb', 'rgba', 'tiles', 'be_u2', 'be_f4')
    for name in known if Image else ():
        with Image.open(V + '/tiff/' + name + '.tif') as image:
            assert np.array_equal(np.asarray(image), f[name][()]), name
    if Image:
        with Image.open(V + '/tiff/g/deep.tif') as image:
            assert image.n_frames == 6
            image.seek(4)
            assert np.array_equal(np.asarray(image), f['g/deep'][1, 1])
    for name in [k for k in f if k[:3] in ('le_', 'be_')] + ['tiles', 'rgb', 'rgba'] if gdal else ():
        have = gdal.Open(V + '/tiff/' + name + '.tif')
        if name.endswith('i1'): continue  # GDAL 3.6 has no signed bytes
        pixels = have.ReadAsArray()
        if pixels.ndim == 3: pixels = pixels.transpose(1, 2, 0)
        assert np.array_equal(pixels, f[name][()]), name
    if gdal:
        assert len(gdal.Open(V + '/tiff/g/stack.tif').GetSubDatasets()) == 4
        third = gdal.Open('GTIFF_DIR:3:' + V + '/tiff/g/stack.tif').ReadAsArray()
        assert np.array_equal(third, f['g/stack'][2])
)");
}

TEST_F(TiffTest, PalettesOfImages) {
  write(R"(
r = np.random.default_rng(5)
with h5py.File('f.h5', 'w') as f:
    palette = f.create_dataset('palette', data=r.integers(0, 256, (256, 3), 'u1'))
    short = f.create_dataset('short', data=r.integers(0, 256, (10, 3), 'u1'))
    def image(name, data, palette, kind):
        d = f.create_dataset(name, data=data)
        d.attrs['CLASS'] = kind; d.attrs['IMAGE_SUBCLASS'] = np.bytes_('IMAGE_INDEXED')
        d.attrs['PALETTE'] = np.array([palette.ref], dtype=h5py.ref_dtype)
    data = r.integers(0, 256, (6, 9), 'u1')
    image('indexed', data, palette, np.bytes_('IMAGE')); image('few', data, short, 'IMAGE')
    image('frames', r.integers(0, 256, (4, 6, 9), 'u1'), palette, np.bytes_('IMAGE'))
    image('wide', data.astype('u2'), palette, np.bytes_('IMAGE')); image('other', data, palette, 'CHART')
    image('no_palette', data, f['indexed'], 'IMAGE')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
with h5py.File(P, 'r') as f:
    for name, palette in (('indexed', 'palette'), ('few', 'short'), ('frames', 'palette')):
        equal('tiff/%s.tif' % name, f[name][()])
        want = np.zeros((256, 3), int); want[:len(f[palette])] = f[palette][()]
        for fields in Tiff(V + '/tiff/%s.tif' % name).pages():
            assert fields[262] == (3,), name
            assert np.array_equal(np.reshape(fields[320], (3, 256)).T, want * 257), name
    equal('slice/frames/2.tif', f['frames'][2])
    for fields in Tiff(V + '/slice/frames/2.tif').pages(): assert fields[262] == (3,)
    for name in ('wide', 'other', 'no_palette'):
        equal('tiff/%s.tif' % name, f[name][()])
        for fields in Tiff(V + '/tiff/%s.tif' % name).pages():
            assert fields[262] == (1,) and 320 not in fields
    if Image:
        with Image.open(V + '/tiff/indexed.tif') as image:
            assert image.mode == 'P'
            assert np.array_equal(np.asarray(image.convert('RGB')), f['palette'][()][f['indexed'][()]])
)");
}

// Sizes are those of the formats' offsets; nothing of millions of pages is held.
TEST_F(TiffTest, LargeOnesAreBigTiff) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    large = f.create_dataset('large', shape=(70000, 40000), dtype='>i2', chunks=(1000, 1000))
    large[69999, 39990:] = np.arange(10)
    pages = f.create_dataset('pages', shape=(3000000, 8, 16), dtype='u1', chunks=(100000, 8, 16))
    pages[2999999] = 7
    f.create_dataset('just', shape=((1 << 32) - 4096 - 200, 1), dtype='u1', chunks=(1 << 20, 1))
    f.create_dataset('above', shape=((1 << 32) - 4096 - 199, 1), dtype='u1', chunks=(1 << 20, 1))
    f.create_dataset('classic', shape=((1 << 32) - 4096 - 208, 1), dtype='u1', chunks=(1 << 20, 1))
    f.create_dataset('colours', shape=(40000, 40000, 3), dtype='u1', chunks=(1000, 1000, 3))
    f.create_dataset('wide', shape=(1, 1 << 32), dtype='u1', chunks=(1, 1 << 20))
    f.create_dataset('huge', shape=(1 << 31, 1 << 31), dtype='u1', chunks=(1 << 10, 1 << 10))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
large = Tiff(V + '/tiff/large.tif')
assert large.big and large.order == '>'
fields, following = large.directory(large.first)
assert following == 0 and fields[256] == (40000,) and fields[257] == (70000,) and fields[279] == (5600000000,)
same(np.frombuffer(large.at(fields[273][0] + 5600000000 - 20, 20), '>i2'), np.arange(10, dtype='>i2'))
if gdal:
    have = gdal.Open(V + '/tiff/large.tif').ReadAsArray(39985, 69998, 15, 2)
    assert np.array_equal(have[1, 5:], np.arange(10)) and not have[0].any()
pages = Tiff(V + '/tiff/pages.tif')
assert not pages.big
step = 200
for number in (0, 1, 1234567, 2999998, 2999999):
    fields, following = pages.directory(pages.first + number * step)
    assert fields[273] == (4096 + 128 * number,) and fields[279] == (128,)
    assert following == (0 if number == 2999999 else pages.first + (number + 1) * step)
assert pages.size == pages.first + 3000000 * step
assert set(pages.image(pages.directory(pages.first + 2999999 * step)[0]).reshape(-1)) == {7}
for name, big in (('just', True), ('above', True), ('classic', False), ('colours', True)):
    image = Tiff(V + '/tiff/%s.tif' % name)
    assert image.big == big, (name, image.size)
    fields, following = image.directory(image.first)
    assert following == 0
assert fields[258] == (8, 8, 8) and fields[262] == (2,) and fields[277] == (3,)
assert error('tiff/wide.tif') == 'ENOENT'
assert Tiff(V + '/tiff/huge.tif').big and os.stat(V + '/tiff/huge.tif').st_size > 1 << 62
)");
}

TEST_F(TiffTest, DamageIsAnErrorForTheBytesThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    d = f.create_dataset('d', data=np.arange(65536).reshape(16, 64, 64), chunks=(1, 64, 64),
                         compression='gzip')
    chunk = d.id.get_chunk_info(3)
with open('f.h5', 'r+b') as f: f.seek(chunk.byte_offset); f.write(b'\xff' * chunk.size)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
image = Tiff(V + '/tiff/d.tif')
for number, fields in enumerate(image.pages()):
    assert error('tiff/d.tif', fields[273][0], 32768) == ('EIO' if number == 3 else None), number
assert number == 15
)");
}

TEST_F(TiffTest, FollowsAStackThatGrows) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(3 * 4096).reshape(3, 64, 64), chunks=(1, 64, 64),
                 maxshape=(None, 64, 64))
)",
                R"(
f['d'].resize((9, 64, 64)); f['d'][3:] = np.arange(3 * 4096, 9 * 4096).reshape(6, 64, 64)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
equal('tiff/d.tif', np.arange(3 * 4096).reshape(3, 64, 64))
advance(1)
want = np.arange(9 * 4096).reshape(9, 64, 64)
until(lambda: os.stat(V + '/tiff/d.tif').st_size > want.nbytes, 'the image grows')
equal('tiff/d.tif', want)
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
