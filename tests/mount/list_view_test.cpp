// /.h5/list.txt: the whole tree for people.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_F(ViewsTest, ListIsTheTreeForPeople) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.attrs['title'] = 'root'
    d = f.create_dataset('g/d', data=np.arange(100.).reshape(10, 10), chunks=(5, 5), compression='gzip',
                         shuffle=True, maxshape=(None, 20))
    d.attrs['units'] = 'K\n\x1b[31m'; d.attrs['list'] = np.arange(1000); d.attrs['π'] = 3.5
    d.attrs.create('large', 'x' * 70000, dtype=h5py.string_dtype())
    f['g/type'] = np.dtype('<i4')
    f['strings'] = ['a', 'b']
    f['scalar'] = 1.5
    f['soft'] = h5py.SoftLink('/nowhere')
    f['out'] = h5py.ExternalLink('other.h5', '/x')
    f['g/up'] = f['/']
    f['odd\n%41'] = np.zeros(3, '>u2')
    f['null'] = h5py.Empty('i4')
    f['wide'] = np.zeros(2, [('member%d' % i, 'i4') for i in range(50)])
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
text = read('list.txt').decode()
lines = text.splitlines()
assert all(line.isprintable() for line in lines) and max(map(len, lines)) < 200
tree = {}
for line in lines:
    if line[0] == '/':
        last, *words = line.split()
        assert last not in tree
        tree[last] = [' '.join(words)]
    else: tree[last].append(line.strip())
assert tree.pop('/') == ['Group', '@title = root']
assert tree.pop('/g') == ['Group']
d = tree.pop('/g/d')
assert d[0] == 'Dataset {10/Inf, 10/20} <f8, chunked {5, 5}, shuffle, deflate', d[0]
assert set(d[1:3]) < {'@units = K\\x0a\\x1b[31m', '@π = 3.5', d[1], d[2]}
assert '@π = 3.5' in d and '@units = K\\x0a\\x1b[31m' in d and 'large attributes: ["large"]' in d, d
assert any(line.startswith('@list = [0,1,2,3') and line.endswith('…') for line in d)
wide = tree.pop('/wide')[0]
assert wide.startswith('Dataset {2} {"member0":"<i4",') and wide.endswith('…'), wide
assert tree == {'/g/type': ['Type <i4'], '/strings': ['Dataset {2} utf8'],
                '/scalar': ['Dataset {SCALAR} <f8'],
                '/soft': ['Link -> nowhere'], '/out': ['Link -> .h5/external/other.h5/x'],
                '/g/up': ['Link -> ..'], '/odd\\x0a%2541': ['Dataset {3} >u2'],
                '/null': ['Dataset {NULL} <i4']}, tree
import subprocess
counted = subprocess.run(['wc', '-c', V + '/list.txt'], capture_output=True).stdout
assert int(counted.split()[0]) == len(text.encode())
)");
}

TEST_F(ViewsTest, ListSaysWhatIsDamaged) {
  write(R"(
with h5py.File('f.h5', 'w', libver='latest') as f:
    f['good'] = 1
    f['bad'] = 2
    place = h5py.h5o.get_info(f['bad'].id).addr
with open('f.h5', 'r+b') as raw:
    raw.seek(place + 10); byte = raw.read(1); raw.seek(place + 10); raw.write(bytes([byte[0] ^ 0x10]))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
lines = read('list.txt').decode().splitlines()
bad = [line for line in lines if line.startswith('/bad ')]
assert len(bad) == 1 and 'error: ' in bad[0] and 'hecksum' in bad[0], bad
assert any(line.startswith('/good ') and 'Dataset {SCALAR} <i8' in line for line in lines), lines
)");
}

}  // namespace
}  // namespace h5mount::test
