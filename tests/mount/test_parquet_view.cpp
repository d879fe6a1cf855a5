// /.h5/parquet through the mount, read by a decoder of Parquet's public format that shares nothing with the
// writer, and held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

class ParquetViewTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from parquet_reader import *\n" + statements);
  }
};

TEST_F(ParquetViewTest, EveryColumnIsWhatH5pyReads) {
  write_by("parquet_view/every_column_is_what_h5py_reads_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  EXPECT_EQ(mount.in("ls .h5/parquet").out,
            "bits.parquet\nempty.parquet\nlong.parquet\nt.parquet\nwide.parquet\nwide_bits.parquet\n");
  H5MOUNT_CHECK_BY("parquet_view/every_column_is_what_h5py_reads_check.py");
}

TEST_VIEW(ParquetViewTest, StringsAreTextWhereTheyAreUtf8,
          "parquet_view/strings_are_text_where_they_are_utf8_file.py",
          "parquet_view/strings_are_text_where_they_are_utf8_check.py")
TEST_VIEW(ParquetViewTest, SizesAreKnownWithoutReading,
          "parquet_view/sizes_are_known_without_reading_file.py",
          "parquet_view/sizes_are_known_without_reading_check.py")

TEST_F(ParquetViewTest, DamageIsAnErrorForTheRowGroupsThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(3000000), chunks=(100000,), compression='gzip')
    info = f['d'].id.get_chunk_info(15)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
size = os.path.getsize(V + '/parquet/d.parquet')
assert error('parquet/d.parquet', 0, 1000) is None and error('parquet/d.parquet', size - 1000, 1000) is None
assert error('parquet/d.parquet', 8 * 1500000) == 'EIO'
)");
}

}  // namespace
}  // namespace h5mount::test
