// Categorical data in both of AnnData's forms: tables have their names.
#include "views.h"

namespace h5mount::test {
namespace {

class CategoriesTest : public ViewsTest {
 protected:
  // Writes the same data frame in the group `old` and, in the newer form, in `new`. `columns`: a Python dict,
  // name to (codes, names).
  void write_frames(const std::string& columns, const std::string& more = {}) const {
    write("columns = " + columns + R"(
def names_of(f, name, values):
    values = np.array(values)
    return f.create_dataset(name, data=values.astype(object) if values.dtype.kind == 'U' else values,
                            dtype=h5py.string_dtype() if values.dtype.kind == 'U' else None)
with h5py.File('f.h5', 'w') as f:
    for form in ('old', 'new'):
        frame = f.create_group(form)
        frame.attrs['encoding-type'] = 'dataframe'
        frame.attrs['_index'] = '_index'
        frame.attrs['column-order'] = list(columns)
        n = len(next(iter(columns.values()))[0])
        frame['_index'] = ['c%d' % i for i in range(n)]
        frame['score'] = np.arange(n) / 4
        for name, (codes, names) in columns.items():
            if form == 'old':
                refers = names_of(frame.require_group('__categories'), name, names)
                frame.create_dataset(name, data=codes).attrs['categories'] = refers.ref
            else:
                column = frame.create_group(name)
                column.attrs['encoding-type'] = 'categorical'
                column.attrs['ordered'] = False
                column['codes'] = codes
                names_of(column, 'categories', names)
)" + more);
  }

  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from parquet_reader import *\nfrom categories_reader import *\n" + statements);
  }
};

TEST_F(CategoriesTest, TablesHaveTheirNames) {
  write_frames(R"({
    'kind': (np.random.default_rng(0).integers(-1, 4, 30001).astype('i1'), ['T', 'B, "b"', 'é', '']),
    'barcode': (np.random.default_rng(1).integers(-1, 20000, 30001).astype('>i2'),
                ['b%d' % i for i in range(20000)]),
    'batch': (np.random.default_rng(2).integers(-1, 3, 30001).astype('i4'), ['x', 'y', 'z' * 90]),
    'long': (np.random.default_rng(3).integers(0, 2, 30001).astype('i8'), ['one', 'two']),
    'cluster': (np.random.default_rng(4).integers(-1, 3, 30001).astype('i1'), np.array([7, -8, 900])),
    'whole': (np.random.default_rng(5).integers(0, 2, 30001).astype('u1'), ['p', 'q']),
    'missing': (np.full(30001, -1, 'i1'), np.zeros(0, 'S1')),
})");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
f = h5py.File(P)
def wanted(name):
    column = f['new'][name]
    names = column['categories'][()]
    names = [n.decode() if isinstance(n, bytes) else n.item() for n in names]
    return [None if code < 0 else names[code] for code in column['codes'][()].tolist()]
coded = sorted(name for name in f['new'] if isinstance(f['new'][name], h5py.Group))
want = {name: wanted(name) for name in coded}
header = sorted(['_index', 'score', *coded])
for form in ('old', 'new'):
    names = [(view, '%s/%s.%s' % (view, form, view)) for view in ('csv', 'tsv', 'ndjson', 'parquet')]
    sizes = {view: os.path.getsize(V + '/' + name) for view, name in names}
    for view, name in names: assert sizes[view] == len(read(name)) > 0, name
    for view, delimiter in (('csv', ','), ('tsv', '\t')):
        got = rows('%s/%s.%s' % (view, form, view), delimiter)
        assert list(got) == header, got.keys()
        for name in coded: assert got[name] == [text(v) for v in want[name]], (form, view, name)
        assert got['score'] == [repr(i / 4) for i in range(30001)]
    got = objects('ndjson/%s.ndjson' % form)
    for name in coded: assert [row[name] for row in got] == want[name], (form, name)
    got, _ = parquet('parquet/%s.parquet' % form)
    assert list(got) == header
    for name in coded:
        assert list(got[name]) == [v if v is None else str(v) for v in want[name]], (form, name)
)");
}

TEST_F(CategoriesTest, EachIsATableOfOneColumnAndItsCodesAreFiles) {
  write_frames(
      "{'kind': (np.array([1, -1, 0], 'i1'), ['T', 'B']), 'even': (np.array([0, 1, 2]), ['a', 'b', 'c'])}");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for form, codes in (('old', ''), ('new', '/codes')):
    size = os.path.getsize(V + '/parquet/%s/kind.parquet' % form)
    assert read('csv/%s/kind.csv' % form) == b'value\nB\n""\nT\n', read('csv/%s/kind.csv' % form)
    assert read('csv/%s/even.csv' % form) == b'value\na\nb\nc\n'
    assert objects('ndjson/%s/kind.ndjson' % form) == [{'value': v} for v in ('B', None, 'T')]
    assert len({len(line) for line in read('ndjson/%s/kind.ndjson' % form).splitlines()}) == 1
    assert list(parquet('parquet/%s/kind.parquet' % form)[0]['value']) == ['B', None, 'T']
    assert size == len(read('parquet/%s/kind.parquet' % form))
    assert read('../%s/kind%s' % (form, codes)) == b'\1\xff\0'
    assert np.load(V + '/npy/%s/kind%s.npy' % (form, codes)).tolist() == [1, -1, 0]
    assert read('text/%s/kind%s' % (form, codes)) == b'1\n-1\n0\n'
assert read('csv/new/kind/codes.csv') == b'value\n1\n-1\n0\n'
assert read('csv/old/__categories/kind.csv') == b'value\nT\nB\n'
)");
}

TEST_F(CategoriesTest, WhatOnlyLooksLikeThemIsNumbers) {
  write_frames("{'kind': (np.array([1, -1, 0], 'i1'), ['T', 'B'])}", R"(
    g = f.create_group('others')
    g.create_dataset('null', data=[1, 2]).attrs.create('categories', h5py.Reference(), dtype=h5py.ref_dtype)
    g.create_dataset('text', data=[1, 2]).attrs['categories'] = 'T,B'
    g.create_dataset('group', data=[1, 2]).attrs['categories'] = f['new'].ref
    f['two'] = np.zeros((2, 2)); g.create_dataset('table', data=[1, 2]).attrs['categories'] = f['two'].ref
    g.create_dataset('float', data=[1., 2.]).attrs['categories'] = f['old/__categories/kind'].ref
    empty = g.create_group('empty'); empty.attrs['encoding-type'] = 'categorical'
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
got = read('csv/others.csv')
assert got == b'float,group,null,table,text\n1.0,1,1,1,1\n2.0,2,2,2,2\n', got
)");
}

TEST_F(CategoriesTest, ACodeWithoutANameIsAnErrorOfItsRow) {
  write_frames("{'kind': (np.arange(100000, dtype='i4') % 3, ['T', 'B', 'C'])}", R"(
    f['old/kind'][70000] = 3; f['new/kind/codes'][70000] = -2
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for form in ('old', 'new'):
    size = os.path.getsize(V + '/csv/%s/kind.csv' % form)
    assert size == len('value\n') + 2 * 100000 - 1  # one byte in place of the row
    assert error('csv/%s/kind.csv' % form, 0, 100000) is None
    assert error('csv/%s/kind.csv' % form, size - 4096, 4096) is None
    assert error('csv/%s/kind.csv' % form, 6 + 2 * 70000) == 'EIO'
    assert error('parquet/%s/kind.parquet' % form, 1000) == 'EIO'
)");
}

TEST_F(CategoriesTest, ManyLongNames) {
  write_frames(R"({
    'long': (np.arange(20000, dtype='i2') % 9000, ['%d' % i + 'x' * 1000 for i in range(9000)]),
    'many': (np.arange(20000, dtype='i4') * 3, ['n%d' % i for i in range(70000)]),
    'kind': (np.zeros(20000, 'i1'), ['T'])})");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
want = ['%d' % (i % 9000) + 'x' * 1000 for i in range(20000)]
for form in ('old', 'new'):
    size = os.path.getsize(V + '/parquet/%s.parquet' % form)
    assert rows('csv/%s.csv' % form)['long'] == want
    assert [row['long'] for row in objects('ndjson/%s.ndjson' % form)] == want
    got = parquet('parquet/%s.parquet' % form)[0]  # 9 MB of names for each row group would be too many
    assert (got['long'] == np.arange(20000) % 9000).all() and list(got['kind']) == ['T'] * 20000
    assert list(got['many']) == ['n%d' % (3 * i) for i in range(20000)]
    assert size == len(read('parquet/%s.parquet' % form))
)");
}

TEST_F(CategoriesTest, NamesAndCodesAreFollowed) {
  write_growing(R"(
g = f.create_group('g')
g.attrs['encoding-type'] = 'categorical'
g.create_dataset('codes', data=np.zeros(5000, 'i1'), chunks=(300,), maxshape=(None,))
g.create_dataset('categories', data=np.array([b'name0'], 'S8'), chunks=(10,), maxshape=(None,))
)",
                R"(
names, codes = f['g/categories'], f['g/codes']
names.resize((n + 1,)); names[n] = b'name%d' % n
f.flush()
codes.resize((5000 + 777 * n,)); codes[-777:] = n
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for n in range(1, 5):
    advance(n)
    want = 'value\n' + 'name0\n' * 5000 + ''.join(('name%d\n' % i) * 777 for i in range(1, n + 1))
    until(lambda: read('csv/g.csv').decode() == want, 'csv')
    until(lambda: [row['value'] for row in objects('ndjson/g.ndjson')] == want.split()[1:], 'ndjson')
    until(lambda: list(parquet('parquet/g.parquet')[0]['value']) == want.split()[1:], 'parquet')
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
