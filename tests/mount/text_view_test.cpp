// /.h5/text through the mount.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_F(ViewsTest, TextIsRowsOfTheLastDimension) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['scalar'] = 3.5
    f['line'] = [1, 2, 3]
    f['table'] = np.arange(6.).reshape(2, 3) / 4
    f['cube'] = np.arange(8).reshape(2, 2, 2)
    f['names'] = np.array([[b'a', b'bc'], [b'say "x"', b'back\\slash']], 'S10')
    f['lines'] = ['one\ntwo', 'tab\t', '']
    f['enum'] = np.array([[0, 1], [1, 2]], h5py.enum_dtype({'RED': 0, 'GREEN': 1}))
    f['empty'] = np.zeros((3, 0))
    f.create_dataset('big', data=np.arange(400000).reshape(4000, 100), chunks=(64, 64), compression='gzip')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
wanted = {'scalar': b'3.5\n', 'line': b'1\n2\n3\n', 'table': b'0.0 0.25 0.5\n0.75 1.0 1.25\n',
          'cube': b'0 1\n2 3\n4 5\n6 7\n', 'names': b'a\nbc\nsay "x"\nback\\\\slash\n',
          'lines': b'one\\ntwo\ntab\\t\n\n', 'enum': b'RED GREEN\nGREEN 2\n', 'empty': b''}
for name, text in wanted.items():
    assert read('text/' + name) == text, (name, read('text/' + name))
    assert os.path.getsize(V + '/text/' + name) == len(text), name
assert np.array_equal(np.loadtxt(V + '/text/big', dtype=int), np.arange(400000).reshape(4000, 100))
whole = read('text/big')
with open(V + '/text/big', 'rb') as f:
    f.seek(1234567); assert f.read(1000) == whole[1234567:1235567]
assert read('slice/table/1') == np.array([.75, 1, 1.25]).tobytes()
)");
}

}  // namespace
}  // namespace h5mount::test
