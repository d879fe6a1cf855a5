// /.h5/metadata.jsonl: every link of the tree once, in strict JSON, held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_F(ViewsTest, MetadataLinesAreTheWholeTree) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.attrs['title'] = 'root'
    d = f.create_dataset('g/d', data=np.arange(100.).reshape(10, 10), chunks=(5, 5), compression='gzip',
                         maxshape=(None, 10))
    d.attrs['nan'] = [np.nan, np.inf, -np.inf, 1.5]
    d.attrs['text'] = 'say "NaN"\n'
    d.attrs['nested'] = np.arange(4).reshape(2, 2)
    f['g/type'] = np.dtype('<i4')
    f['strings'] = ['a', 'b']
    f['soft'] = h5py.SoftLink('/nowhere')
    f['out'] = h5py.ExternalLink('other.h5', '/x')
    f['g/up'] = f['/']
    f['zz'] = f['g']
    f['odd "\n\t é'] = 1
    f[b'bytes \xff'] = 2
    f['null'] = h5py.Empty('i4')
    f.create_dataset('lists', shape=(2,), dtype=h5py.vlen_dtype('i4'))
    f['rows'] = np.zeros(2, [('a', 'i4', (2,))])
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import json
def refuse(number): raise ValueError(number)
text = read('metadata.jsonl')
lines = [json.loads(line, parse_constant=refuse) for line in text.decode().split('\n')[:-1]]
tree = {line['path']: line for line in lines}
assert len(tree) == len(lines)
assert set(tree) == {'/', '/g', '/g/d', '/g/type', '/g/up', '/strings', '/soft', '/out', '/zz', '/null',
                     '/odd "\n\t é', '/bytes \udcff', '/lists', '/rows'}, set(tree)
assert lines[0]['path'] == '/' and lines[0]['attributes'] == {'title': 'root'}
d = tree['/g/d']
assert d['kind'] == 'dataset' and d['shape'] == [10, 10] and d['maxshape'] == [None, 10]
assert d['chunks'] == [5, 5]
assert d['dtype'] == '<f8' and d['layout'] == 'chunked' and d['filters'][0]['name'] == 'deflate'
assert d['storage_size'] == h5py.File(P)['g/d'].id.get_storage_size()
assert d['attributes'] == {'nan': ['NaN', 'Infinity', '-Infinity', 1.5], 'text': 'say "NaN"\n',
                           'nested': [[0, 1], [2, 3]]}
assert 'views' not in d and 'npy' in tree['/strings']['views']
stores = {'plain.zarr', 'stored.zarr', 'v3.zarr'}
assert stores <= set(tree['/lists']['views']) and stores <= set(tree['/null']['views'])
assert tree['/rows']['views'].keys() & stores == {'v3.zarr'} and 'tiff' in tree['/rows']['views']
assert tree['/soft']['kind'] == 'soft' and tree['/soft']['target'] == '/nowhere'
out = tree['/out']
assert out['kind'] == 'external' and out['file'] == 'other.h5' and out['target'] == '/x'
assert tree['/g/up']['kind'] == 'hard' and tree['/g/up']['target'] == '/'
assert tree['/zz']['kind'] == 'hard' and tree['/zz']['target'] == '/g'
assert tree['/g/type']['kind'] == 'datatype' and tree['/g/type']['dtype'] == '<i4'
assert tree['/null']['shape'] is None
import subprocess
counted = subprocess.run(['wc', '-c', V + '/metadata.jsonl'], capture_output=True).stdout
assert int(counted.split()[0]) == len(text)
# Everything that is there is explained.
page = read('README').decode()
for name in os.listdir(V): assert name in ('README',) or '\n' + name in page or ', ' + name in page, name
)");
}

TEST_F(ViewsTest, MetadataLinesSayWhatIsDamaged) {
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
import json
tree = {line['path']: line for line in map(json.loads, read('metadata.jsonl').splitlines())}
assert 'checksum' in tree['/bad']['error'] or 'Checksum' in tree['/bad']['error'], tree['/bad']
assert tree['/good']['shape'] == []
)");
}

}  // namespace
}  // namespace h5mount::test
