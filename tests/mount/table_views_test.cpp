// /.h5/csv, /.h5/tsv and /.h5/ndjson through the mount: what Python's csv and json modules read is what h5py
// reads.
#include "views.h"

namespace h5mount::test {
namespace {

class TableViewsTest : public ViewsTest {
 protected:
  // With what the checks of tables share.
  Outcome check(const std::string& statements) const {
    return ViewsTest::check(R"(
import csv, io, json
def rows(name, delimiter=','):
    data = read(name)
    with open(V + '/' + name, encoding='utf-8', errors='surrogateescape', newline='') as f:
        table = list(csv.reader(f, delimiter=delimiter))
    assert os.path.getsize(V + '/' + name) == len(data)
    return table[0], table[1:]
def objects(name):
    data = read(name)
    assert os.path.getsize(V + '/' + name) == len(data)
    def no(constant): raise ValueError(constant)
    return [json.loads(line, parse_constant=no) for line in data.decode().splitlines()]
def floats(values): return [float(v) for v in values]
)" + statements);
  }
};

TEST_F(TableViewsTest, NumbersAreWhatH5pyReads) {
  write(R"(
r = np.random.default_rng(1)
with h5py.File('f.h5', 'w') as f:
    for kind in ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8'):
        for order in '<>':
            info = np.iinfo(kind)
            values = np.array([info.min, info.max, 0, 1] + list(range(50)), order + kind)
            f[{'<': 'le_', '>': 'be_'}[order] + kind] = values
    for kind in ('f2', 'f4', 'f8'):
        for order in '<>':
            bits = r.integers(0, 256, 20000 * int(kind[1]), dtype='u1').view(order + kind)
            special = np.array([0, -0.0, 1, -1, 1e5, np.nan, np.inf, -np.inf, np.finfo(kind).max,
                                np.finfo(kind).tiny, np.finfo(kind).smallest_subnormal], order + kind)
            name = {'<': 'le_', '>': 'be_'}[order] + kind
            f.create_dataset(name, data=np.concatenate([special, bits]), chunks=(999,), compression='gzip')
    f.create_dataset('wide', data=r.random((300, 17)), chunks=(64, 5), shuffle=True, compression='gzip')
    f['empty'] = np.zeros((0, 3), 'i4')
    f['complex'] = np.array([1 + 2j, 3j, -0.5 - 1e300j, complex('nan'), complex('-inf+infj')])
    f['scalar'] = 1
    f['cube'] = np.zeros((2, 2, 2))
    f['null'] = h5py.Empty('f4')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
for name in f:
    d = f[name]
    if name in ('scalar', 'cube', 'null'):
        for view in ('csv', 'tsv', 'ndjson'): assert error(view + '/' + name + '.' + view) == 'ENOENT'
        continue
    want = d[()].reshape(len(d), d.shape[1] if d.ndim == 2 else 1)
    for view, delimiter in (('csv', ','), ('tsv', '\t')):
        header, got = rows(view + '/' + name + '.' + view, delimiter)
        assert header == (['value'] if d.ndim == 1 else [str(i) for i in range(d.shape[1])]), header
        assert len(got) == len(want)
        parse = {'i': int, 'u': int, 'f': float, 'c': complex}[d.dtype.kind]
        if len(want):
            back = np.array([[parse(v) for v in row] for row in got], dtype=d.dtype)
            np.testing.assert_array_equal(back, want)
            if d.dtype.kind == 'f': assert (np.signbit(back) == np.signbit(want))[~np.isnan(want)].all()
    if d.dtype.kind == 'c': continue
    with open(V + '/ndjson/' + name + '.ndjson', 'rb') as file: assert len(set(map(len, file))) <= 1
    got = objects('ndjson/' + name + '.ndjson')
    assert len(got) == len(want)
    keys = ['value'] if d.ndim == 1 else [str(i) for i in range(d.shape[1])]
    for row, values in zip(got, want):
        assert list(row) == keys
        back = [float('nan') if v is None else float(v) if isinstance(v, str) else v for v in row.values()]
        np.testing.assert_array_equal(np.array(back, dtype=d.dtype), values)
assert objects('ndjson/complex.ndjson')[2] == {'value': [-0.5, -1e300]}
)");
}

TEST_F(TableViewsTest, CompoundsOfEveryKindOfMember) {
  write(R"(
inner = np.dtype([('x', '<f4'), ('y', '>i2', (2, 2))])
enum = h5py.enum_dtype({'RED': 0, 'A,B': 1}, basetype='i1')
t = np.dtype([('id', '<i4'), ('name', 'S8'), ('text', h5py.string_dtype()), ('in', inner),
              ('on', '?'), ('color', enum), ('list', h5py.vlen_dtype('f8')), ('raw', 'V2'), ('c', 'c8'),
              ('in.x', 'u1'), ('quote"d, name', 'i1'), (b'\xc3\xa9'.decode(), 'i1')])
rows = np.zeros(9000, t)
for i in range(9000):
    rows[i]['id'] = i
    rows[i]['name'] = [b'', b'plain', b'a,b', b'q"q', b'l\nn', b'\xff\xfe', b'a\tb'][i % 7]
    rows[i]['text'] = ['', 'naïve', 'a,"b"', 'x' * (i % 50)][i % 4]
    rows[i]['in']['x'] = i / 2; rows[i]['in']['y'] = i % 100
    rows[i]['on'] = i % 2; rows[i]['color'] = i % 3
    rows[i]['list'] = np.array([1.5, float('nan')][:i % 3])
    rows[i]['raw'] = b'\x01\x02'; rows[i]['c'] = 1 + 2j; rows[i]['in.x'] = 3
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('t', data=rows, chunks=(1000,))
    f['one'] = rows[7]
    f['two'] = np.zeros((3, 2), [('a', 'i4'), ('b', 'f4')])
    f['strings'] = np.array([b'', b'a', b'', b'"'], 'S2')
    f['fixed'] = np.zeros(3, [('a', 'i4'), ('e', enum), ('c', 'c16')])
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
want = f['t'][()]
names = ['id', 'name', 'text', 'in.x', 'in.y.0.0', 'in.y.0.1', 'in.y.1.0', 'in.y.1.1', 'on', 'color', 'list',
         'raw', 'c', 'in.x (2)', 'quote"d, name', 'é']
def cells(row):
    i = int(row['id'])
    return [str(i), row['name'].decode('utf-8', 'surrogateescape'), row['text'].decode(),
            repr(float(row['in']['x']))] + [str(i % 100)] * 4 + [
            ['FALSE', 'TRUE'][i % 2], ['RED', 'A,B', '2'][i % 3], ['[]', '[1.5]', '[1.5,NaN]'][i % 3],
            '0x0102', '1+2j', '3', '0', '0']
for view, delimiter in (('csv', ','), ('tsv', '\t')):
    header, got = rows(view + '/t.' + view, delimiter)
    assert header == names, header
    assert len(got) == len(want)
    for a, b in zip(got, want): assert a == cells(b), (a, cells(b))
    header, got = rows(view + '/one.' + view, delimiter)
    assert header == names and got == [cells(f['one'][()])]
got = objects('ndjson/t.ndjson')
assert len(got) == len(want) and list(got[0]) == names
for a, b in zip(got, want):
    c = cells(b)
    assert (a['id'], a['text'], str(a['color']), a['in.x']) == (int(c[0]), c[2], c[9], float(c[3])), (a, c)
    assert a['name'] == c[1], (a, c)
    assert a['list'] == [1.5, None][:int(b['id']) % 3] and a['c'] == [1, 2] and a['raw'] == '0x0102'
assert rows('csv/two.csv') == (['0.a', '0.b', '1.a', '1.b'], [['0', '0.0', '0', '0.0']] * 3)
assert read('csv/strings.csv') == b'value\n""\na\n""\n""""\n'
assert len(set(map(len, io.BytesIO(read('ndjson/fixed.ndjson'))))) == 1
assert objects('ndjson/fixed.ndjson') == [{'a': 0, 'e': 'RED', 'c': [0.0, 0.0]}] * 3
assert read('csv/t.csv').count(b'\r') == 0
)");
}

// Any byte range is what it is in the whole file.
TEST_F(TableViewsTest, EveryRangeCanBeReadAlone) {
  write(R"(
r = np.random.default_rng(2)
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=r.integers(-10**9, 10**9, (50000, 3)), chunks=(7000, 2), compression='gzip')
)");
  ASSERT_TRUE(mounts("f.h5", "-o cache_size=4M")) << said;
  H5MOUNT_CHECK(R"(
import random
random.seed(3)
for name in ('csv/d.csv', 'ndjson/d.ndjson'):
    whole = read(name)
    fd = os.open(V + '/' + name, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for _ in range(300):
        at, length = random.randrange(len(whole) + 10), random.randrange(1, 200000)
        assert os.pread(fd, length, at) == whole[at:at + length]
    os.close(fd)
width = read('ndjson/d.ndjson').index(b'\n') + 1
with open(V + '/ndjson/d.ndjson', 'rb') as file:
    file.seek(31415 * width)
    assert list(json.loads(file.readline()).values()) == list(h5py.File(P)['d'][31415])
)");
}

TEST_F(TableViewsTest, DamageIsAnErrorForTheRowsThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(102400), chunks=(10240,), compression='gzip')
    info = f['d'].id.get_chunk_info(5)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
head = 'value\n' + ''.join('%d\n' % i for i in range(51200))
tail = ''.join('%d\n' % i for i in range(61440, 102400))
size = os.path.getsize(V + '/csv/d.csv')
assert size == len(head) + 10240 + len(tail)
fd = os.open(V + '/csv/d.csv', os.O_RDONLY)
page = len(head) // 4096 * 4096
assert os.pread(fd, page, 0).decode() == head[:page]
start = size - len(tail) + 4096
assert os.pread(fd, len(tail), start).decode() == tail[4096:]
assert error('csv/d.csv', len(head) + 5000) == 'EIO'
try: read('csv/d.csv'); assert False
except OSError as e: assert e.errno == errno.EIO
w = os.path.getsize(V + '/ndjson/d.ndjson') // 102400
for row, want in ((0, None), (51000, None), (51200 + 300, 'EIO'), (61440 - 300, 'EIO'), (61440 + 300, None)):
    assert error('ndjson/d.ndjson', row * w, w) == want, row
)");
}

TEST_F(TableViewsTest, LogsFollowAGrowingTable) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(5000), chunks=(300,), maxshape=(None,), compression='gzip')
)",
                R"(
old, new = 5000 + 777 * (n - 1), 5000 + 777 * n
f['d'].resize((new,)); f['d'][old:] = np.arange(old, new)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import subprocess
os.chdir(D)
tail = subprocess.Popen(['tail', '-n', '+1', '-f', V + '/ndjson/d.ndjson'], stdout=open('tail.out', 'wb'))
try:
    for n in range(1, 6):
        advance(n)
        length = 5000 + 777 * n
        until(lambda: len(read('csv/d.csv').splitlines()) == 1 + length, 'csv')
        assert read('csv/d.csv').decode() == 'value\n' + ''.join('%d\n' % i for i in range(length))
        until(lambda: len(objects('ndjson/d.ndjson')) == length, 'ndjson')
        until(lambda: open('tail.out').read().count('\n') == length, 'tail -f')
    assert [json.loads(line)['value'] for line in open('tail.out')] == list(range(length))
finally:
    tail.kill(); tail.wait()
    finish()
)");
}

// 26 MB of text, and 17 MB that a pass has measured and kept.
TEST_F(TableViewsTest, AReadFromStartToEndKeepsLittleText) {
  write(R"(
with h5py.File('f.h5', 'w') as f: f['n'] = np.arange(1200000, dtype='i8') * 1000003
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
def cached():
    for line in open(V + '/status'):
        if line.startswith('cache_used: '): return int(line.split()[1])
want = h5py.File(P)['n'][()]
for view in ('ndjson', 'csv'):
    before = cached()
    data = read(view + '/n.' + view)
    got = [row['value'] for row in objects('ndjson/n.ndjson')] if view == 'ndjson' else rows('csv/n.csv')[1]
    assert len(data) > 12 << 20, len(data)
    assert np.array_equal(np.array(got, 'i8').ravel(), want)
    assert cached() - before < 10 << 20, (view, before, cached())
)");
}

TEST_F(TableViewsTest, PandasReadsThemAll) {
  write(R"(
r = np.random.default_rng(4)
with h5py.File('f.h5', 'w') as f:
    t = np.zeros(10000, [('id', 'i8'), ('x', 'f8'), ('name', 'S5')])
    t['id'] = r.integers(-2**62, 2**62, 10000); t['x'] = r.standard_normal(10000); t['x'][5] = np.nan
    t['name'] = b'abc'
    f['t'] = t
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import pandas
want = h5py.File(P)['t'][()]
for got in (pandas.read_csv(V + '/csv/t.csv', float_precision='round_trip'),
            pandas.read_csv(V + '/tsv/t.tsv', sep='\t', float_precision='round_trip'),
            pandas.read_json(V + '/ndjson/t.ndjson', lines=True, precise_float=True)):
    assert (got['id'].to_numpy() == want['id']).all()
    np.testing.assert_allclose(got['x'].to_numpy(), want['x'], rtol=1e-15)
    assert (got['name'] == 'abc').all()
)");
}

}  // namespace
}  // namespace h5mount::test
