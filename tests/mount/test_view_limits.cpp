// The limits of views, on both sides.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_VIEW(ViewsTest, LimitsOfViewsHoldOnBothSides, "view_limits/limits_of_views_hold_on_both_sides_file.py",
          "view_limits/limits_of_views_hold_on_both_sides_check.py")

// A dataset of 2^63 bytes or more is no file, and none of its views is; what lies beside it is listed.
TEST_VIEW(ViewsTest, DatasetsLargerThanAFileAreAbsentFromAllViews,
          "view_limits/datasets_larger_than_a_file_are_absent_from_all_views_file.py",
          "view_limits/datasets_larger_than_a_file_are_absent_from_all_views_check.py")

// Hard links are counted without being opened; whatever else has a number is looked up.
TEST_F(ViewsTest, NumberedSourcesEndAtTheFirstThatIsMissing) {
  write_by("view_limits/numbered_sources_end_at_the_first_that_is_missing_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
with h5py.File(P, 'r') as f: expected = f['v'][()]
assert len(expected) == 20, expected
assert os.path.getsize(V + '/../v') == 20 and read('../v') == expected.tobytes()
)");
}

// A virtual dataset of a virtual dataset, and so on.
TEST_F(ViewsTest, VirtualDatasetsNestToTheirLimit) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['v0'] = np.arange(5)
    for i in range(1, 11):
        layout = h5py.VirtualLayout((5,), 'i8')
        layout[:] = h5py.VirtualSource('.', 'v%d' % (i - 1), (5,))
        f.create_virtual_dataset('v%d' % i, layout)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
seen = []
for i in range(11):
    try: seen.append(read('../v%d' % i) == np.arange(5).tobytes())
    except OSError as e: seen.append(e.errno)
print(seen)
assert seen == [True] * 9 + [errno.EIO] * 2, seen
)");
}

}  // namespace
}  // namespace h5mount::test
