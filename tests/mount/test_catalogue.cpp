// The catalogue of a mount of many files: metadata.jsonl and catalogue.parquet of its own .h5.
#include "many_files.h"

namespace h5mount::test {
namespace {

class CatalogueTest : public ManyFilesTest {
 protected:
  void SetUp() override {
    ManyFilesTest::SetUp();
    if (::testing::Test::IsSkipped()) return;
    write(R"(
with h5py.File('src/sub/run.nxs', 'w') as f:
    f['entry/sample/temperature'] = 291.5; f['entry/sample/temperature'].attrs['units'] = 'K'
    f['entry/title'] = 'a "title"\n'; f['entry/few'] = np.arange(16, dtype='i4').reshape(4, 4)
    f['entry/many'] = np.arange(17, dtype='i4'); f['entry/nan'] = np.nan
    f['entry/none'] = h5py.Empty('f4'); f['entry/texts'] = ['x', 'y']
    f['entry/link'] = h5py.SoftLink('/entry/few'); f['entry/out'] = h5py.ExternalLink('b.nc', '/d')
    f['type'] = np.dtype('<u2'); f['entry/b\udcff'.encode('utf8', 'surrogateescape')] = 1
os.symlink('none', 'src/gone.h5')
)");
  }

  // `lines` and `rows` of a catalogue, parsed; the decoder is that of the views' tests (parquet_reader.py).
  Outcome catalogue(const std::string& statements, int seconds = 120) const {
    const std::string fixtures = (source_root() / "tests/mount/fixtures").string();
    return script("FIXTURES = '" + fixtures + "'\n" + R"(
import json, struct
import numpy as np
sys.dont_write_bytecode = True
sys.path.insert(0, FIXTURES)
sys.argv = ['', mnt, '']  # as of a program of the views' tests
from parquet_reader import Thrift, texts
def plain(data, at, end, rows, kind):  # a page of values that may be missing
    length, = struct.unpack_from('<I', data, at)
    run = Thrift(data, at + 4); groups = (rows + 7) // 8
    assert run.varint() == groups << 1 | 1 and run.at + groups == at + 4 + length
    there = np.unpackbits(np.frombuffer(data, 'u1', groups, run.at), bitorder='little')
    assert not there[rows:].any()
    at += 4 + length; n = int(there.sum())
    if kind == 2:
        assert end - at == 8 * n
        values = iter(struct.unpack_from('<%dq' % n, data, at))
    else: values = iter([t.decode() for t in texts(data, at, n, end)])
    return [next(values) if one else None for one in there[:rows]]
def table(data):
    assert data[:4] == data[-4:] == b'PAR1'
    length, = struct.unpack('<I', data[-8:-4])
    meta = Thrift(data, len(data) - 8 - length).value(12)
    schema = meta[2][1:]; columns = [[] for _ in schema]; at = 4
    for group in meta[4]:
        for column, out in zip(group[1], columns):
            about = column[3]
            assert about[9] == at and about[6] == about[7], (about, at)
            page = Thrift(data, at); head = page.value(12)
            assert head[1] == 0 and head[5][1] == group[3] and page.at + head[3] == at + about[7]
            out += plain(data, page.at, page.at + head[3], group[3], about[1]); at += about[7]
    assert at == len(data) - 8 - length and meta[3] == len(columns[0])
    names = [s[4].decode() for s in schema]
    assert all(s[3] == 1 and s[1] == (2 if s[4] in (b'size', b'mtime') else 6) for s in schema)
    return [dict(zip(names, row)) for row in zip(*columns)]
def lines(text): return [json.loads(l, parse_constant=lambda c: 1 / 0) for l in text.decode().splitlines()]
def all_lines(): return lines(read('.h5/metadata.jsonl'))
def counts(): s = status(); return int(s['catalogue_files_opened']), int(s['catalogue_files_remembered'])
)" + statements,
                  seconds);
  }
};

TEST_F(CatalogueTest, HasALineForEveryObjectOfEveryFile) {
  mounted();
  const Outcome seen = catalogue(R"(
print(sorted(os.listdir(mnt + '.h5')))
found = all_lines(); by = {(l['file'], l['path']): l for l in found}
assert len(by) == len(found)
print([l['file'] for l in found if l['path'] == '/'])
for file in 'a.h5', 'sub/b.nc', 'sub/deep/C.HDF5', 'sub/run.nxs':
    own = lines(read(file + '/.h5/metadata.jsonl'))
    assert len(own) == len([l for l in found if l['file'] == file]), file
    for line in own:
        mine = dict(by[file, line['path']])
        if line.get('kind') == 'external': line['target_file'] = line.pop('file')
        for key in 'file', 'size', 'mtime', 'value': mine.pop(key, None)
        assert mine == line, (mine, line)
run = {p: l for (f, p), l in by.items() if f == 'sub/run.nxs'}
for path in 'sample/temperature', 'title', 'few', 'many', 'nan', 'none', 'texts', 'link', 'out', 'b\udcff':
    line = run['/entry/' + path]
    print(ascii(path), line['kind'], line.get('size'), ascii(line.get('value', '-')), line.get('target_file'))
print(run['/type']['kind'], run['/']['mtime'] == int(os.stat(src + 'sub/run.nxs').st_mtime))
for file in 'bad.h5', 'gone.h5': print(list(by[file, '/']), by[file, '/']['error'][:45])
)");
  EXPECT_EQ(seen.out, R"(['README', 'catalogue.parquet', 'log', 'metadata.jsonl', 'status']
['a.h5', 'bad.h5', 'gone.h5', 'sub/b.nc', 'sub/deep/C.HDF5', 'sub/run.nxs']
'sample/temperature' dataset 8 291.5 None
'title' dataset None 'a "title"\n' None
'few' dataset 64 [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]] None
'many' dataset 68 '-' None
'nan' dataset 8 'NaN' None
'none' dataset 0 None None
'texts' dataset None ['x', 'y'] None
'link' soft None '-' None
'out' external None '-' b.nc
'b\udcff' dataset 8 1 None
datatype True
['file', 'path', 'error'] Superblock.signature at 0x0: bad signature, n
['file', 'path', 'error'] no such file: none
)") << seen.err;
}

TEST_F(CatalogueTest, TheTableHasTheSameRows) {
  mounted();
  const Outcome seen = catalogue(R"(
rows, found = table(read('.h5/catalogue.parquet')), all_lines()
print(','.join(rows[0]), len(rows) == len(found))
for row, line in zip(rows, found):
    for key in 'file', 'kind', 'dtype', 'size', 'mtime', 'error':
        assert row[key] == line.get(key), (row, line)
    assert row['path'] == line['path'].replace('\udcff', '\\udcff')
    for key in 'shape', 'attributes', 'value':
        assert (row[key] is None) == (key not in line), (key, row, line)
        assert row[key] is None or json.loads(row[key]) == line[key], (key, row, line)
print([(r['file'], r['value']) for r in rows
       if r['path'] == '/entry/sample/temperature' and float(r['value']) > 290])
with open(mnt + '.h5/catalogue.parquet', 'rb') as f:
    size = os.fstat(f.fileno()).st_size
    whole = f.read(); f.seek(-4, 2)
    print(len(whole) == size, f.read())
)");
  EXPECT_EQ(seen.out,
            R"(file,path,kind,shape,dtype,size,mtime,attributes,value,error True
[('sub/run.nxs', '291.5')]
True b'PAR1'
)") << seen.err;
}

TEST_F(CatalogueTest, WhatIsRememberedIsNotOpenedAgain) {
  for (const char* options : {"", ",max_open=2"}) {
    mounted("-o catalogue=" + (place / "store").string() + options);
    const Outcome seen = catalogue(R"(
store = 'store'; first = read('.h5/metadata.jsonl'); opened, remembered = counts()
table_before = read('.h5/catalogue.parquet')
print(oct(os.stat(store).st_mode & 0o7777),
      [oct(os.stat(store + '/' + n).st_mode & 0o77) for n in os.listdir(store)])
again, known = counts()
print(again - opened, known - remembered)  # the one that cannot be opened is tried again
make('src/a.h5', 7); os.rename(src + 'sub/b.nc', src + 'sub/renamed.nc'); make('src/new.h5', 8)
before = counts(); second = all_lines(); after = counts()  # a name that changes is a change of its file
print(after[0] - before[0], after[1] - before[1])
print(sorted({l['file'] for l in second}))
)");
    EXPECT_EQ(seen.out, R"(0o700 ['0o0']
1 4
4 2
['a.h5', 'bad.h5', 'gone.h5', 'new.h5', 'sub/deep/C.HDF5', 'sub/renamed.nc', 'sub/run.nxs']
)") << seen.err;
    ASSERT_EQ(run("umount " + mount.path()).code, 0);
    ASSERT_TRUE(mount.gone());
    // The second time some files are known from the first mount.
    write("os.remove('src/new.h5'); os.rename('src/sub/renamed.nc', 'src/sub/b.nc')");
  }
}

TEST_F(CatalogueTest, LinesOfRemovedFilesAreForgotten) {
  mounted("-o catalogue=" + (place / "store").string());
  const Outcome seen = catalogue(R"(
import sqlite3
def files():
    table = sqlite3.connect('store/catalogue.sqlite')
    return table.execute('SELECT count(DISTINCT identity) FROM part').fetchone()[0]
all_lines(); print(files())
os.remove(src + 'sub/run.nxs'); os.rename(src + 'a.h5', src + 'z.h5')
until(lambda: 'z.h5' in os.listdir(mnt) and not os.path.exists(mnt + 'sub/run.nxs'), 'shown')
all_lines(); print(files())
)");
  EXPECT_EQ(seen.out, "4\n3\n") << seen.err;
}

TEST_F(CatalogueTest, WhatDependsOnOtherFilesIsReadAgain) {
  write(R"(
layout = h5py.VirtualLayout((2,), 'u1'); layout[:] = h5py.VirtualSource('a.h5', 'd', (1000,))[:2]
with h5py.File('src/v.h5', 'w') as f: f.create_virtual_dataset('v', layout)
)");
  mounted("-o catalogue=" + (place / "store").string());
  const Outcome seen = catalogue(R"(
def value(): return [l['value'] for l in all_lines() if l['file'] == 'v.h5' and l['path'] == '/v']
print(value()); os.utime(src + 'v.h5', (1, 1)); print(value())
make('src/a.h5', 9); print(value())
)");
  EXPECT_EQ(seen.out, "[[1, 1]]\n[[1, 1]]\n[[9, 9]]\n") << seen.err;
}

TEST_F(CatalogueTest, ADamagedStoreIsMadeAnew) {
  const std::string store = (place / "store").string();
  const std::string list = "$H5MOUNT --cat -o catalogue=" + store + " " + source.string() +
                           " /.h5/metadata.jsonl | sort | sha256sum";
  const std::string without =
      run("$H5MOUNT --cat " + source.string() + " /.h5/metadata.jsonl | sort | sha256sum").out;
  EXPECT_EQ(run(list).out, without);
  for (const char* damage :
       {"open(p, 'wb').write(b'no database' * 1000)", "os.truncate(p, 5000)", "os.truncate(p, 0)",
        "f = open(p, 'r+b'); f.seek(4096); f.write(os.urandom(4096))", "os.remove(p)",
        "import sqlite3; c = sqlite3.connect(p); c.execute('DROP TABLE part'); "
        "c.execute('CREATE TABLE part(x)'); c.commit()",
        "import sqlite3; c = sqlite3.connect(p); c.execute('UPDATE part SET text = ?', (b'lies',)); "
        "c.commit()",
        "import sqlite3; c = sqlite3.connect(p); c.execute('UPDATE part SET text = zeroblob(900000)'); "
        "c.commit()"}) {
    write(std::string("p = 'store/catalogue.sqlite'\n") + damage);
    EXPECT_EQ(run(list).out, without) << damage;
    EXPECT_EQ(run(list).out, without) << damage;
    EXPECT_EQ(run("/usr/bin/python3 -c \"import sqlite3; print(sqlite3.connect('" + store +
                  "/catalogue.sqlite').execute('SELECT count(*) FROM part').fetchone()[0])\"")
                  .out,
              "4\n")
        << damage;
  }
}

TEST_F(CatalogueTest, ADirectoryWhereOthersMayWriteIsRefused) {
  write("os.mkdir('store'); os.chmod('store', 0o770)");
  const Outcome refused =
      run("$H5MOUNT -o catalogue=" + (place / "store").string() + " " + source.string() + " " + mount.path());
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("others may write there"), std::string::npos) << refused.err;
  EXPECT_FALSE(mount.mounted());
}

TEST_F(CatalogueTest, MountsShareAStore) {
  write(R"(
os.mkdir('src/n')
for i in range(200): make = h5py.File('src/n/%03d.h5' % i, 'w').create_dataset('d', data=i)
)");
  const std::string list = "$H5MOUNT --cat -o catalogue=" + (place / "store").string() + " " +
                           source.string() + " /.h5/metadata.jsonl | sha256sum";
  const Outcome all = run("for i in 1 2 3 4; do " + list + " & done; wait");
  const std::string first = all.out.substr(0, all.out.find('\n') + 1);
  EXPECT_EQ(all.out, first + first + first + first) << all.err;
  EXPECT_EQ(run(list).out, first);
}

TEST_F(CatalogueTest, SaysNothingToOthersOfWhatTheyMayNotRead) {
  H5MOUNT_NEEDS_ROOT();
  write(R"(
os.mkdir('src/private'); make = lambda name: h5py.File(name, 'w').create_dataset('d', data=b'secret')
make('src/private/p.h5'); make('src/own.h5'); os.chmod('src/private', 0o700); os.chmod('src/own.h5', 0o600)
)");
  const std::string store = "catalogue=" + (place / "store").string();
  ASSERT_EQ(
      run("$H5MOUNT --cat -o " + store + " " + source.string() + " /.h5/metadata.jsonl | grep -c secret").out,
      "2\n");
  mounted("-o allow_other," + store);
  for (const char* name : {"metadata.jsonl", "catalogue.parquet"}) {
    const Outcome seen = as_nobody(std::string("cat .h5/") + name);
    EXPECT_EQ(seen.out.find("secret"), std::string::npos);
    EXPECT_NE(seen.out.find("not all users may read it"), std::string::npos) << seen.err;
    EXPECT_NE(seen.out.find("not all users may read the directory"), std::string::npos);
    EXPECT_NE(seen.out.find("temperature"), std::string::npos);
  }
}

TEST_F(CatalogueTest, CommandsWithoutAMountGiveTheSame) {
  mounted();
  for (const char* name : {"/.h5/metadata.jsonl", "/.h5/catalogue.parquet"}) {
    const std::string sum = mount.in("cat ." + std::string(name) + " | sha256sum").out;
    EXPECT_EQ(run("$H5MOUNT --cat " + source.string() + " " + name + " | sha256sum").out, sum) << name;
    EXPECT_EQ(run("$H5MOUNT --tar " + source.string() + " " + name + " | tar -xO | sha256sum").out, sum)
        << name;
    const std::string copy = (place / "copy").string() + std::filesystem::path(name).filename().string();
    EXPECT_EQ(
        run("$H5MOUNT --copy " + source.string() + " " + name + " " + copy + " && sha256sum <" + copy).out,
        sum)
        << name;
    EXPECT_EQ(mount.in("cp ." + std::string(name) + " " + copy + "2 && sha256sum <" + copy + "2").out, sum);
  }
}

TEST_F(CatalogueTest, WhoOpensTheTableMeanwhileSharesIt) {
  mounted();
  const Outcome seen = catalogue(R"(
name = mnt + '.h5/catalogue.parquet'
first = open(name, 'rb'); once = counts()[0]
with open(name, 'rb') as second: same = second.read()
print(counts()[0] - once, same == first.read())
make('src/a.h5', 5)
with open(name, 'rb') as third: print(third.read() == same, counts()[0] - once)
)");
  EXPECT_EQ(seen.out, "0 True\nFalse 5\n") << seen.err;
}

TEST_F(CatalogueTest, APassEndsWithItsReaderAndTellsHowFarItIs) {
  write(R"(
os.mkdir('src/n')
for i in range(300):
    with h5py.File('src/n/%03d.h5' % i, 'w') as f:
        for j in range(60): f.create_group('g%d' % j).attrs['a'] = j
)");
  mounted();
  const Outcome seen = catalogue(R"(
reader = subprocess.Popen(['cat', mnt + '.h5/catalogue.parquet'], stdout=subprocess.DEVNULL)
told = []
while reader.poll() is None and len(told) < 3:
    now = status()
    if now['catalogues_being_made'] == '1' and now['catalogue_files_told'] != '0':
        told.append((int(now['catalogue_files_told']), int(now['catalogue_files_to_tell'])))
print(len(told) == 3, all(0 < t <= n == 305 for t, n in told), told[0][0] <= told[2][0])
reader.kill(); reader.wait()
until(lambda: status()['catalogues_being_made'] == '0', 'the end of the pass')
print(counts()[0] < 305)
)");
  EXPECT_EQ(seen.out, "True True True\nTrue\n") << seen.err;
}

}  // namespace
}  // namespace h5mount::test
