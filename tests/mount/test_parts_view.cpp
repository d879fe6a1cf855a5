// /.h5/slice and /.h5/fields through the mount, held against NumPy's indexing of what h5py reads.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_VIEW(ViewsTest, SlicesAreWhatNumPySelects, "parts_view/cube.py",
          "parts_view/slices_are_what_num_py_selects_check.py")
TEST_VIEW(ViewsTest, WhatIsNoSelectionIsNotThere, "parts_view/cube.py",
          "parts_view/what_is_no_selection_is_not_there_check.py")

TEST_F(ViewsTest, DamageFailsOnlyTheSlicesThatNeedIt) {
  write_by("parts_view/damage_fails_only_the_slices_that_need_it_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for row in range(100): assert error('slice/d/%d' % row, 0, 800) == ('EIO' if 30 <= row < 40 else None), row
for column in range(100):
    assert error('slice/d/:,%d' % column, 0, 800) == ('EIO' if 40 <= column < 50 else None), column
assert error('slice/d/30:40,::50', 0, 160) is None
)");
}

TEST_VIEW(ViewsTest, FieldsAreMembersPacked, "parts_view/fields_are_members_packed_file.py",
          "parts_view/fields_are_members_packed_check.py")

TEST_F(ViewsTest, SlicesOfAGrowingDataset) {
  write_growing(R"(
rows = np.arange(3000).reshape(1000, 3)
f.create_dataset('d', data=rows, chunks=(64, 2), maxshape=(None, 3), compression='gzip')
)",
                R"(
f['d'].resize((1000 + 501 * n, 3))
f['d'][-501:] = np.arange(3 * (499 + 501 * n), 3 * (1000 + 501 * n)).reshape(501, 3)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("parts_view/slices_of_a_growing_dataset_check.py");
}

}  // namespace
}  // namespace h5mount::test
