// /.h5/v3.zarr through the mount, read by a reader of the specification's words alone (Debian 12 has none of
// version 3), held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

class Zarr3Test : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from zarr3_reader import *\n" + statements);
  }
};

TEST_VIEW(Zarr3Test, EveryArrayIsWhatH5pyReads, "zarr3_view/every_array_is_what_h5py_reads_file.py",
          "zarr3_view/every_array_is_what_h5py_reads_check.py")
TEST_VIEW(Zarr3Test, LinksAndNamesOfEveryKind, "zarr3_view/links_and_names_of_every_kind_file.py",
          "zarr3_view/links_and_names_of_every_kind_check.py")
TEST_VIEW(Zarr3Test, CarriesWhatNetcdfMeans, "zarr3_view/carries_what_netcdf_means_file.py",
          "zarr3_view/carries_what_netcdf_means_check.py")

TEST_F(Zarr3Test, StringsEndWhereH5pyEndsThem) {
  write_by("padded_strings.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
arrays, groups = store()
assert {'terminated', 'spaces_packed', 'terminated_array', 'terminated_rows'} <= set(arrays), set(arrays)
with h5py.File(P, 'r') as f:
    for name, array in arrays.items(): assert leaves(array[...]) == leaves(f[name][()]), name
)");
}

TEST_F(Zarr3Test, FollowsAFileThatGrows) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(1000), chunks=(300,), maxshape=(None,), compression='gzip')
)",
                R"(
f['d'].resize((2000,)); f['d'][1000:] = np.arange(1000, 2000)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("zarr3_view/follows_a_file_that_grows_check.py");
}

TEST_F(Zarr3Test, DamageStaysWithItsChunk) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    d = f.create_dataset('d', data=np.arange(1000), chunks=(100,), compression='gzip')
    chunk = d.id.get_chunk_info(4)
with open('f.h5', 'r+b') as f: f.seek(chunk.byte_offset); f.write(b'\xff' * chunk.size)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
assert error('v3.zarr/d/c.4') == 'EIO'
for i in range(10):
    if i != 4: same(np.frombuffer(read('v3.zarr/d/c.%d' % i), '<i8'), np.arange(100 * i, 100 * i + 100))
)");
}

}  // namespace
}  // namespace h5mount::test
