// /.h5/csv, /.h5/tsv and /.h5/ndjson through the mount: what Python's csv and json modules read is what h5py
// reads.
#include "views.h"

namespace h5mount::test {
namespace {

class TableViewsTest : public ViewsTest {
 protected:
  // With what the checks of tables share.
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from table_reader import *\n" + statements);
  }
};

TEST_VIEW(TableViewsTest, NumbersAreWhatH5pyReads, "table_views/numbers_are_what_h5py_reads_file.py",
          "table_views/numbers_are_what_h5py_reads_check.py")
TEST_VIEW(TableViewsTest, CompoundsOfEveryKindOfMember,
          "table_views/compounds_of_every_kind_of_member_file.py",
          "table_views/compounds_of_every_kind_of_member_check.py")

// Any byte range is what it is in the whole file.
TEST_F(TableViewsTest, EveryRangeCanBeReadAlone) {
  write(R"(
r = np.random.default_rng(2)
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=r.integers(-10**9, 10**9, (50000, 3)), chunks=(7000, 2), compression='gzip')
)");
  ASSERT_TRUE(mounts("f.h5", "-o cache_size=4M")) << said;
  H5MOUNT_CHECK_BY("table_views/every_range_can_be_read_alone_check.py");
}

TEST_F(TableViewsTest, DamageIsAnErrorForTheRowsThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(102400), chunks=(10240,), compression='gzip')
    info = f['d'].id.get_chunk_info(5)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("table_views/damage_is_an_error_for_the_rows_that_need_it_check.py");
}

TEST_F(TableViewsTest, LogsFollowAGrowingTable) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(5000), chunks=(300,), maxshape=(None,), compression='gzip')
)",
                R"(
old, new = 5000 + 777 * (n - 1), 5000 + 777 * n
f['d'].resize((new,)); f['d'][old:] = np.arange(old, new)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("table_views/logs_follow_a_growing_table_check.py");
}

// 26 MB of text, and 17 MB that a pass has measured and kept.
TEST_F(TableViewsTest, AReadFromStartToEndKeepsLittleText) {
  write(R"(
with h5py.File('f.h5', 'w') as f: f['n'] = np.arange(1200000, dtype='i8') * 1000003
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("table_views/a_read_from_start_to_end_keeps_little_text_check.py");
}

TEST_F(TableViewsTest, PandasReadsThemAll) {
  write(R"(
r = np.random.default_rng(4)
with h5py.File('f.h5', 'w') as f:
    t = np.zeros(10000, [('id', 'i8'), ('x', 'f8'), ('name', 'S5')])
    t['id'] = r.integers(-2**62, 2**62, 10000); t['x'] = r.standard_normal(10000); t['x'][5] = np.nan
    t['name'] = b'abc'
    f['t'] = t
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("table_views/pandas_reads_them_all_check.py");
}

}  // namespace
}  // namespace h5mount::test
