// /.h5/metadata.jsonl: every link of the tree once, in strict JSON, held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_VIEW(ViewsTest, MetadataLinesAreTheWholeTree, "metadata_view/metadata_lines_are_the_whole_tree_file.py",
          "metadata_view/metadata_lines_are_the_whole_tree_check.py")

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
