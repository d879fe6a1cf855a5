// /.h5/list.txt: the whole tree for people.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_VIEW(ViewsTest, ListIsTheTreeForPeople, "list_view/list_is_the_tree_for_people_file.py",
          "list_view/list_is_the_tree_for_people_check.py")

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
