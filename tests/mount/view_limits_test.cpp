// The limits of views, on both sides.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_F(ViewsTest, LimitsOfViewsHoldOnBothSides) {
  write(R"(
from h5py import h5d, h5p, h5s, h5t
def sparse_chunks(f, name, shape, chunks):  # gzip, nothing written
    f.create_dataset(name, shape, 'u1', chunks=chunks, compression='gzip', shuffle=True)
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('most_elements', (1 << 30,), 'u1')
    f.create_dataset('too_many_elements', ((1 << 30) + 1,), 'u1')
    f.create_dataset('most_columns', (2, 65536), 'u1')
    f.create_dataset('too_many_columns', (2, 65537), 'u1')
    f.create_dataset('widest', (2,), np.dtype([('s', 'S%d' % (64 << 20))]))
    f.create_dataset('too_wide', (2,), np.dtype([('s', 'S%d' % ((64 << 20) + 1))]))
    f.create_dataset('most_slices', (65536, 2), 'u1')
    f.create_dataset('more_slices', (65537, 2), 'u1')
    sparse_chunks(f, 'largest_frame', (1, 256 << 20), (1, 256 << 20))
    sparse_chunks(f, 'too_large_frame', (1, (256 << 20) + 1), (1, (256 << 20) + 1))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import json
assert os.path.getsize(V + '/csv/most_elements.csv') == len('value\n') + (2 << 30)
assert error('csv/too_many_elements.csv') == 'EFBIG'
assert os.path.getsize(V + '/text/most_elements') == 2 << 30
assert error('text/too_many_elements') == 'EFBIG'
shown = set(os.listdir(V + '/csv'))
assert {'most_columns.csv', 'widest.csv'} <= shown, shown
assert not {'too_many_columns.csv', 'too_wide.csv'} & shown, shown
assert read('csv/most_columns.csv').count(b',') == 3 * 65535
lines = [json.loads(line) for line in open(V + '/metadata.jsonl')]
views = {line['path']: line.get('views', {}) for line in lines}
assert views['/too_many_columns']['csv'] == 'too many columns'
assert views['/too_wide']['csv'] == 'rows too large'
assert len(os.listdir(V + '/slice/most_slices')) == len(os.listdir(V + '/slice/more_slices')) == 65536
assert read('slice/more_slices/65536') == bytes(2)
arrays = [json.loads(read('stored.zarr/%s/.zarray' % name)) for name in ('largest_frame', 'too_large_frame')]
assert arrays[0]['compressor'] and arrays[1]['compressor'] is None, arrays
)");
}

// A dataset of 2^63 bytes or more is no file, and none of its views is; what lies beside it is listed.
TEST_F(ViewsTest, DatasetsLargerThanAFileAreAbsentFromAllViews) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    for place in ('', 'g/'):
        f[place + 'before'] = np.arange(6).reshape(2, 3)
        f.create_dataset(place + 'huge', (1 << 32, 1 << 31), 'u1', chunks=(4096, 4096))
        f[place + 'long'] = np.arange(6)
        f.create_dataset(place + 'huge_row', (1 << 62,), 'u2', chunks=(4096,))
        f[place + 'other'] = np.arange(6)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import json
others = {'README', 'attributes', 'external', 'list.txt', 'log', 'metadata.jsonl', 'status', 'sparse'}
views = set(os.listdir(V)) - others
assert {'csv', 'fields', 'npy', 'plain.zarr', 'slice', 'stored.zarr', 'tiff', 'v3.zarr'} <= views, views
for view in views:
    names = {os.path.relpath(os.path.join(at, name), V)
             for at, below, files in os.walk(V + '/' + view, onerror=lambda e: (_ for _ in ()).throw(e))
             for name in below + files}
    assert not any('huge' in name for name in names), names
    if view not in ('fields', 'sparse'): assert any('g/before' in name for name in names), (view, names)
assert read('csv/g.csv').splitlines()[0] == b'long,other'
assert error('npy/huge.npy') == error('slice/huge/0') == 'ENOENT'
assert os.stat(V + '/../huge').st_size == 0 and error('../huge') == 'EFBIG'
lines = {line['path']: line for line in map(json.loads, open(V + '/metadata.jsonl'))}
assert set(lines['/g/huge']['views']) == views, lines['/g/huge']
assert set(lines['/g/huge']['views'].values()) == {'larger than a file can be'}
)");
}

// Hard links are counted without being opened; whatever else has a number is looked up.
TEST_F(ViewsTest, NumberedSourcesEndAtTheFirstThatIsMissing) {
  write(R"(
from h5py import h5d, h5p, h5s, h5t
with h5py.File('f.h5', 'w', libver='latest') as f:
    g = f.create_group('g')
    for i in (0, 1, 2, 4, 6, 7): g['x%%%d.d' % i] = np.arange(4, dtype='u1') + 10 * i
    g['x%05.d'] = g['x%7.d']
    g['x%3.d'] = h5py.SoftLink('/g/x%1.d')
    view = h5s.create_simple((4,), (h5s.UNLIMITED,))
    view.select_hyperslab((0,), (h5s.UNLIMITED,), (4,), (4,))
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_virtual(view, b'.', b'/g/x%%%b.d', h5s.create_simple((4,)))
    h5d.create(f.id, b'v', h5t.STD_U8LE, h5s.create_simple((4,), (h5s.UNLIMITED,)), dcpl=plist)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
with h5py.File(P, 'r') as f: expected = f['v'][()]
assert len(expected) == 20, expected
assert os.path.getsize(V + '/../v') == 20 and read('../v') == expected.tobytes()
)");
}

// A virtual dataset of a virtual dataset, and so on.
TEST_F(ViewsTest, VirtualDatasetsNestToTheirLimit) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['v0'] = np.arange(5)
    for i in range(1, 11):
        layout = h5py.VirtualLayout((5,), 'i8')
        layout[:] = h5py.VirtualSource('.', 'v%d' % (i - 1), (5,))
        f.create_virtual_dataset('v%d' % i, layout)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
seen = []
for i in range(11):
    try: seen.append(read('../v%d' % i) == np.arange(5).tobytes())
    except OSError as e: seen.append(e.errno)
print(seen)
assert seen == [True] * 9 + [errno.EIO] * 2, seen
)");
}

}  // namespace
}  // namespace h5mount::test
