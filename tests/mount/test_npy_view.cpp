// /.h5/npy through the mount: what NumPy loads is what h5py reads.
#include "views.h"

namespace h5mount::test {
namespace {

TEST_VIEW(ViewsTest, NpyIsWhatH5pyReads, "npy_view/npy_is_what_h5py_reads_file.py",
          "npy_view/npy_is_what_h5py_reads_check.py")

// What follows the end of a string is zero in NumPy's files, and as it was written in the dataset's own.
TEST_VIEW(ViewsTest, NpyStringsEndWhereH5pyEndsThem, "padded_strings.py",
          "npy_view/npy_strings_end_where_h5py_ends_them_check.py")

TEST_F(ViewsTest, NpyLeavesOutWhatNumPyCannotSay) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['text'] = ['a', 'bb']
    f['null'] = h5py.Empty('f4')
    f['reference'] = np.array([f.ref], h5py.ref_dtype)
    f['fine'] = 1
    f['type'] = np.dtype('i4')
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  EXPECT_EQ(mount.in("ls .h5/npy").out, "fine.npy\n");
  H5MOUNT_CHECK("assert error('npy/text.npy') == error('npy/null.npy') == error('npy/type.npy') == 'ENOENT'");
}

TEST_F(ViewsTest, LinksLeadToTheViewOfWhatTheyLeadTo) {
  write_by("npy_view/links_lead_to_the_view_of_what_they_lead_to_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  EXPECT_EQ(mount.in("ls .h5/npy .h5/npy/group").out,
            ".h5/npy:\nd.npy\ngroup\nhard.npy\noutside\nto group\n\n.h5/npy/group:\nsoft.npy\ntop\n");
  EXPECT_EQ(mount.in("readlink .h5/npy/group/soft.npy '.h5/npy/to group'").out, "../d.npy\ngroup\n");
  H5MOUNT_CHECK(R"(
for name in ('d', 'hard', 'group/soft', 'to group/soft', 'group/top/d'):
    same(np.load(V + '/npy/' + name + '.npy'), np.array([1, 2, 3]))
same(np.load(V + '/npy/outside/there.npy'), np.array([1, 2]))
)");
}

TEST_VIEW(ViewsTest, EveryListedNameOpensAndNoOther, "npy_view/every_listed_name_opens_and_no_other_file.py",
          "npy_view/every_listed_name_opens_and_no_other_check.py")

TEST_F(ViewsTest, DamageIsAnErrorForTheBytesThatNeedIt) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('d', data=np.arange(102400), chunks=(10240,), compression='gzip')
    info = f['d'].id.get_chunk_info(5)
with open('f.h5', 'r+b') as raw:
    raw.seek(info.byte_offset + 20); raw.write(b'\xff' * 100)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for chunk in range(10):
    got = error('npy/d.npy', 4096 + chunk * 10240 * 8, 8)
    assert got == ('EIO' if chunk == 5 else None), (chunk, got)
)");
}

// A growing dataset moves nothing: only header and end change.
TEST_F(ViewsTest, NpyOfAGrowingDataset) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(1000), chunks=(300,), maxshape=(None,), compression='gzip')
f.create_dataset('wide', data=np.ones((10, 7)), chunks=(4, 4), maxshape=(None, 7))
)",
                R"(
old, new = 1000 + 777 * (n - 1), 1000 + 777 * n
f['d'].resize((new,)); f['d'][old:] = np.arange(old, new)
f['wide'].resize((10 + 5 * n, 7)); f['wide'][10 + 5 * (n - 1):] = n
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("npy_view/npy_of_a_growing_dataset_check.py");
}

}  // namespace
}  // namespace h5mount::test
