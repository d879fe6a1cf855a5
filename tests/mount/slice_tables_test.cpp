// Slices as tables: /.h5/slice/PATH/SELECTION.csv, .tsv, .ndjson and .parquet against h5py and NumPy.
#include "views.h"

namespace h5mount::test {
namespace {

class SliceTablesTest : public ViewsTest {
 protected:
  // `table(name)`: what the file of any of the views holds as a list of rows of numbers.
  Outcome check(const std::string& statements) const {
    return ViewsTest::check(R"(
import csv, json, struct
def table(name):
    data = read(name)
    assert os.path.getsize(V + '/' + name) == len(data)
    if name.endswith('.ndjson'): return [list(json.loads(line).values()) for line in data.splitlines()]
    if name.endswith('.parquet'):
        assert data[:4] == data[-4:] == b'PAR1'
        return data
    lines = list(csv.reader(data.decode().splitlines(), delimiter=',' if name.endswith('.csv') else '\t'))
    return [[float(v) if '.' in v else int(v) for v in line] for line in lines[1:]]
)" + statements);
  }
};

TEST_F(SliceTablesTest, AreWhatNumPySelects) {
  write(R"(
r = np.random.default_rng(0)
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('a', data=np.arange(20000).reshape(2000, 10), chunks=(300, 4), compression='gzip')
    f['x'] = r.standard_normal(50000)
    f['cube'] = np.arange(24000).reshape(20, 30, 40)
    f['t'] = np.array([(i, i / 2) for i in range(3000)], [('n', 'i4'), ('v', 'f8')])
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
cases = [('a', s) for s in ('100:1900:7', ':,3', '5', '...,::3', '0:0', '1999:', '-2000:-1,-1')] + [
    ('x', '::100'), ('x', '40000:'), ('cube', '3'), ('cube', ':,5,6'), ('cube', ':,:,1'), ('t', '10:20'),
    ('t', '::1000')]
for name, selection in cases:
    want = eval('f[name][()][%s]' % selection)
    if want.dtype.names: want = [list(row) for row in want.tolist()]
    else: want = want.reshape(len(want), -1).tolist() if want.size else []
    for view in ('csv', 'tsv', 'ndjson'):
        got = table('slice/%s/%s.%s' % (name, selection, view))
        assert got == want, (name, selection, view, got[:3], want[:3])
    data = table('slice/%s/%s.parquet' % (name, selection))
for name in ('a/5,3', 'cube/...', 'a/3000', 'a/None', 'a/x'):
    for view in ('csv', 'tsv', 'ndjson', 'parquet'):
        assert error('slice/%s.%s' % (name, view)) == 'ENOENT', name
# One column of one row group: a page header of some bytes and the values as they are.
data = table('slice/x/::100.parquet')
assert f['x'][::100].tobytes() in data
assert f['a'][100:1900:7, 3].astype('i8').tobytes() in table('slice/a/100:1900:7,3.parquet')
# Of a selection every range can be read alone.
for name in ('slice/a/100:1900:7.csv', 'slice/a/100:1900:7.ndjson', 'slice/a/100:1900:7.parquet'):
    whole = read(name)
    fd = os.open(V + '/' + name, os.O_RDONLY)
    for at in range(0, len(whole), 997): assert os.pread(fd, 50, at) == whole[at:at + 50]
    os.close(fd)
)");
}

TEST_F(SliceTablesTest, DamageIsAnErrorForTheRowsThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(409600), chunks=(10240,), compression='gzip')
    info = f['d'].id.get_chunk_info(20)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
# Rows of every second element: those of the damaged chunk are 102400 to 107520.
for view, other in (('csv', 1), ('tsv', 1)):
    name = 'slice/d/::2.' + view
    head = 'value\n' + ''.join('%d\n' % i for i in range(0, 204800, 2))
    tail = ''.join('%d\n' % i for i in range(215040, 409600, 2))
    fd = os.open(V + '/' + name, os.O_RDONLY)
    size = os.fstat(fd).st_size
    assert size > len(head) + len(tail)
    page = len(head) // 4096 * 4096
    assert os.pread(fd, page, 0).decode() == head[:page]
    begin = size - len(tail) + 65536
    assert os.pread(fd, size, begin).decode() == tail[65536:]
    os.close(fd)
    assert error(name, len(head) + 4096) == 'EIO'
name = 'slice/d/::2.ndjson'
w = os.path.getsize(V + '/' + name) // 204800
for row, want in ((0, None), (102400 - 300, None), (102400 + 300, 'EIO'), (107520 + 300, None)):
    assert error(name, row * w, w) == want, row
for selection, want in ((':204800', None), ('215040:', None), ('204800:204801', 'EIO')):
    for view in ('csv', 'ndjson', 'parquet'):
        name = 'slice/d/%s.%s' % (selection, view)
        size = os.path.getsize(V + '/' + name)
        assert size > 0
        fd = os.open(V + '/' + name, os.O_RDONLY)
        seen, at = None, 0
        try:
            while at < size: at += len(os.pread(fd, 1 << 20, at))
        except OSError as e: seen = errno.errorcode[e.errno]
        os.close(fd)
        assert seen == want, (name, seen)
)");
}

TEST_F(SliceTablesTest, FollowAGrowingDataset) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(10000).reshape(5000, 2), chunks=(300, 2), maxshape=(None, 2))
)",
                R"(
d = f['d']
old = len(d); d.resize((old + 777, 2))
d[old:] = np.arange(2 * old, 2 * old + 2 * 777).reshape(777, 2)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for n in range(1, 4):
    advance(n)
    want = list(range(1, 2 * (5000 + 777 * n), 6))
    for view in ('csv', 'tsv', 'ndjson'):
        name = 'slice/d/::3,1.' + view
        until(lambda: len(read(name).splitlines()) == len(want) + (view != 'ndjson'), name)
        assert table(name) == [[v] for v in want], name
    values = np.array(want, '<i8').tobytes()
    until(lambda: values in read('slice/d/::3,1.parquet'), 'parquet')
    column = np.arange(10000 + 777 * 2 * n).reshape(-1, 2)[:, 1].tobytes()
    until(lambda: column in read('parquet/d.parquet'), 'the whole dataset as parquet')
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
