// /.h5/text through the mount.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_VIEW(ViewsTest, TextIsRowsOfTheLastDimension, "text_view/text_is_rows_of_the_last_dimension_file.py",
          "text_view/text_is_rows_of_the_last_dimension_check.py")

// Rows that were never written all have the fill value's text, whose length need not be measured row by row.
TEST_F(ViewsTest, TextOfMostlyUnwrittenDatasets) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', (10_000_000,), 'f8', chunks=(4096,), fillvalue=-1.5)[4095:4097] = [7, 8]
    f.create_dataset('too_many', (1 << 30, 1 << 20), 'f8')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("text_view/text_of_mostly_unwritten_datasets_check.py");
}

// A string whose heap object is gone is an error of its own bytes, one in place of its line.
TEST_F(ViewsTest, DamageOfTextStaysLocal) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['s'] = ['%05d' % i + 'x' * 8186 for i in range(10)]
with open('f.h5', 'r+b') as f:
    at = f.read().index(b'00004x') - 16  # the object's number in its collection
    f.seek(at); f.write(bytes([99]))
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("text_view/damage_of_text_stays_local_check.py");
}

}  // namespace
}  // namespace h5mount::test
