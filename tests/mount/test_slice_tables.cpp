// Slices as tables: /.h5/slice/PATH/SELECTION.csv, .tsv, .ndjson and .parquet against h5py and NumPy.
#include "views.h"

namespace h5mount::test {
namespace {

class SliceTablesTest : public ViewsTest {
 protected:
  // `table(name)`: what the file of any of the views holds as a list of rows of numbers.
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from slice_reader import *\n" + statements);
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
  H5MOUNT_CHECK_BY("slice_tables/are_what_num_py_selects_check.py");
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
  H5MOUNT_CHECK_BY("slice_tables/damage_is_an_error_for_the_rows_that_need_it_check.py");
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
  H5MOUNT_CHECK_BY("slice_tables/follow_a_growing_dataset_check.py");
}

}  // namespace
}  // namespace h5mount::test
