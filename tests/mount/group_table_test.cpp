// Groups of equally long datasets as tables: /.h5/csv/GROUP.csv and the like, held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

class GroupTableTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check(R"(
import csv, io, json
def rows(name, delimiter=','):
    table = list(csv.reader(io.StringIO(read(name).decode('utf-8', 'surrogateescape'), newline=''),
                            delimiter=delimiter))
    return table[0], table[1:]
def objects(name):
    def no(constant): raise ValueError(constant)
    return [json.loads(line, parse_constant=no) for line in read(name).decode().splitlines()]
def names(directory): return sorted(os.listdir(V + '/' + directory))
)" + statements);
  }
};

TEST_F(GroupTableTest, ColumnsAreTheDatasetsOfOneDimension) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['a'] = np.arange(3); f['b'] = np.arange(3)
    g = f.create_group('run/g')
    r = np.random.default_rng(0)
    g['time'] = np.arange(30000) / 8
    g.create_dataset('count', data=r.integers(-9, 9, 30000).astype('>i2'), chunks=(999,), compression='gzip')
    g['name'] = np.array([b'x', b'a,b', b''] * 10000, 'S5')
    g['text'] = ['one', 'two "2"'] * 15000
    g['both'] = np.array([(1, 2.5)] * 30000, [('u', 'u1'), ('v', 'f4')])
    g['pair'] = np.arange(60000).reshape(30000, 2)
    g['scalar'] = 1; g['null'] = h5py.Empty('i4'); g.create_group('below')
    c = f.create_group('complex'); c['r'] = np.arange(2.); c['i'] = -np.arange(2.)
    f.create_group('one')['x'] = np.arange(3)
    u = f.create_group('uneven'); u['x'] = np.arange(3); u['y'] = np.arange(4)
    e = f.create_group('empty'); e['x'] = np.zeros(0); e['y'] = np.zeros(0, 'i4')
    o = f.create_group('ordered', track_order=True)
    for name in 'zay': o[name] = np.full(2, ord(name), 'u1')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
assert names('csv') == ['a.csv', 'b.csv', 'complex', 'complex.csv', 'empty', 'empty.csv', 'one', 'ordered',
                        'ordered.csv', 'run', 'uneven'], names('csv')
assert 'run.csv' not in names('csv') and 'g.csv' in names('csv/run')
assert names('parquet/run') == ['g', 'g.parquet'] and 'complex.parquet' in names('parquet')
assert error('csv/uneven.csv') == error('csv/one.csv') == error('csv/.csv') == 'ENOENT'
g = f['run/g']
header = ['both.u', 'both.v', 'count', 'name', 'text', 'time']
want = [['1', '2.5', str(c), n.decode(), t.decode(), repr(float(s))]
        for c, n, t, s in zip(g['count'][()], g['name'][()], g['text'][()], g['time'][()])]
for view, delimiter in (('csv', ','), ('tsv', '\t')):
    name = '%s/run/g.%s' % (view, view)
    assert rows(name, delimiter) == (header, want)
    assert os.path.getsize(V + '/' + name) == len(read(name))
got = objects('ndjson/run/g.ndjson')
assert list(got[0]) == header
assert [[o['count'], o['name'], o['text'], o['time']] for o in got] == [
    [int(w[2]), w[3], w[4], float(w[5])] for w in want]
assert rows('csv/complex.csv') == (['i', 'r'], [['0.0', '0.0'], ['-1.0', '1.0']]) or \
       rows('csv/complex.csv') == (['i', 'r'], [['-0.0', '0.0'], ['-1.0', '1.0']])
assert read('csv/empty.csv') == b'x,y\n' and read('ndjson/empty.ndjson') == b''
assert rows('csv/ordered.csv')[0] == ['z', 'a', 'y']
assert os.path.getsize(V + '/ndjson/complex.ndjson') == len(read('ndjson/complex.ndjson')) > 0
)");
}

TEST_F(GroupTableTest, LinksNamesAndCollisions) {
  write(R"(
with h5py.File('other.h5', 'w') as f: f['d'] = np.arange(3)
with h5py.File('f.h5', 'w') as f:
    g = f.create_group('g'); g['x'] = np.arange(3); g['x/y'.replace('/', ',')] = np.arange(3)
    f['g.csv/inside'] = 1                               # a directory keeps this name
    f['hard'] = g; f['soft'] = h5py.SoftLink('/g'); f['up'] = f['/']
    s = f.create_group('linked'); s['own'] = np.arange(3); s['soft'] = h5py.SoftLink('/g/x')
    s['dangling'] = h5py.SoftLink('/nowhere'); s['out'] = h5py.ExternalLink('other.h5', '/d')
    long = f.create_group('n' * 255); long['x'] = np.arange(3); long['y'] = np.arange(3)
    odd = f.create_group(b'\xff%2F'); odd[b'\xfe"'] = np.arange(3); odd['y'] = np.arange(3)
    for name, count in (('most', 4096), ('many', 4097)):
        for i in range(count): f.create_dataset('%s/%d' % (name, i), (1,), 'i1')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
want = b'x,"x,y"\n0,0\n1,1\n2,2\n'
listed = names('csv')
assert os.path.isdir(V + '/csv/g.csv') and os.listdir(V + '/csv/g.csv') == []
cut = [n for n in listed if n.startswith('g~') and n.endswith('.csv')]
assert len(cut) == 1 and read('csv/' + cut[0]) == want, listed
for name in listed: os.stat(V + '/csv/' + name)
assert os.readlink(V + '/tsv/soft.tsv') == os.readlink(V + '/tsv/hard.tsv') == 'g.tsv'
assert read('tsv/soft.tsv') == read('tsv/hard.tsv') == read('tsv/g.tsv') == b'x\tx,y\n0\t0\n1\t1\n2\t2\n'
assert 'up.tsv' not in names('tsv') and 'many.tsv' not in names('tsv')
assert len(rows('tsv/most.tsv', '\t')[0]) == 4096
assert rows('csv/linked.csv')[0] == ['own', 'soft']
longest = [n for n in listed if n.startswith('nnn') and n.endswith('.csv')]
assert len(longest) == 1 and len(longest[0]) == 255 and read('csv/' + longest[0]).startswith(b'x,y\n')
odd = [n for n in os.listdir(os.fsencode(V + '/csv')) if n.startswith(b'\xff') and n.endswith(b'.csv')]
assert len(odd) == 1
with open(os.fsencode(V + '/csv/') + odd[0], 'rb') as f: assert f.read().startswith(b'y,"\xfe"""\n')
)");
}

TEST_F(GroupTableTest, DamageIsAnErrorForTheRowsThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    g = f.create_group('g')
    g['x'] = np.arange(102400)
    g.create_dataset('y', data=np.arange(102400), chunks=(10240,), compression='gzip')
    info = g['y'].id.get_chunk_info(5)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
head = 'x,y\n' + ''.join('%d,%d\n' % (i, i) for i in range(51200))
tail = ''.join('%d,%d\n' % (i, i) for i in range(61440, 102400))
size = os.path.getsize(V + '/csv/g.csv')
assert size == len(head) + 2 * 10240 + len(tail)
fd = os.open(V + '/csv/g.csv', os.O_RDONLY)
page = len(head) // 4096 * 4096
assert os.pread(fd, page, 0).decode() == head[:page]
assert os.pread(fd, len(tail), size - len(tail) + 4096).decode() == tail[4096:]
assert error('csv/g.csv', len(head) + 5000) == 'EIO'
w = os.path.getsize(V + '/ndjson/g.ndjson') // 102400
for row, want in ((0, None), (51000, None), (51200 + 300, 'EIO'), (61440 + 300, None)):
    assert error('ndjson/g.ndjson', row * w, w) == want, row
why = os.getxattr(V + '/../g', 'user.hdf5.error').decode()
assert 'dataset y' in why, why
)");
}

TEST_F(GroupTableTest, FollowsTheShortestOfGrowingDatasets) {
  write_growing(R"(
g = f.create_group('g')
for name in 'xy': g.create_dataset(name, data=np.arange(5000), chunks=(300,), maxshape=(None,))
)",
                R"(
d = f['g/x' if n % 2 else 'g/y']
old = len(d); d.resize((old + 777,)); d[old:] = np.arange(old, old + 777)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for n in range(1, 7):
    advance(n)
    length = 5000 + 777 * (n // 2)
    want = 'x,y\n' + ''.join('%d,%d\n' % (i, i) for i in range(length))
    until(lambda: read('csv/g.csv').decode() == want, 'csv')
    width = len('{"x":,"y":}\n') + 2 * 20
    until(lambda: os.path.getsize(V + '/ndjson/g.ndjson') == length * width, 'the size')
    assert objects('ndjson/g.ndjson') == [{'x': i, 'y': i} for i in range(length)]
    assert read('csv/g.csv').decode() == want
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
