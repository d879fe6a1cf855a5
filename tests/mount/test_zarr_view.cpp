// /.h5/plain.zarr and /.h5/stored.zarr through the mount: what zarr-python and xarray open is what h5py and
// netCDF4 read.
#include "views.h"

namespace h5mount::test {
namespace {

class ZarrTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from zarr2_arrays import *\n" + statements);
  }
};

TEST_VIEW(ZarrTest, EveryArrayIsWhatH5pyReads, "zarr_view/every_array_is_what_h5py_reads_file.py",
          "zarr_view/every_array_is_what_h5py_reads_check.py")
TEST_VIEW(ZarrTest, LinksAndNamesOfEveryKind, "zarr_view/links_and_names_of_every_kind_file.py",
          "zarr_view/links_and_names_of_every_kind_check.py")
TEST_VIEW(ZarrTest, XarrayReadsWhatNetcdfMeans, "zarr_view/xarray_reads_what_netcdf_means_file.py",
          "zarr_view/xarray_reads_what_netcdf_means_check.py")

TEST_F(ZarrTest, DatasetsWithoutScalesOpenTogether) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['a'] = np.zeros((4, 4)); f['b'] = np.arange(4); f['c'] = np.arange(7.); f['d'] = np.zeros((7, 4), 'i4')
    f['b'].attrs['CLASS'] = 'mine'; f['b'].attrs['x'] = np.nan
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import xarray
x = xarray.open_zarr(Z)
assert x['a'].dims[0] == x['b'].dims[0] == x['d'].dims[1] and x['a'].dims[0] != x['a'].dims[1]
assert x['c'].dims[0] == x['d'].dims[0]
assert x['b'].attrs['CLASS'] == 'mine' and np.isnan(x['b'].attrs['x'])
same(x['d'].values, np.zeros((7, 4), 'i4'))
)");
}

// h5py gives nothing behind the end of a string, whatever the writer left there.
TEST_VIEW(ZarrTest, StringsEndWhereH5pyEndsThem, "padded_strings.py",
          "zarr_view/strings_end_where_h5py_ends_them_check.py")

TEST_F(ZarrTest, DamageStaysWithItsChunk) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    d = f.create_dataset('d', data=np.arange(1000), chunks=(100,), compression='gzip')
    chunk = d.id.get_chunk_info(4)
with open('f.h5', 'r+b') as f: f.seek(chunk.byte_offset); f.write(b'\xff' * chunk.size)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("zarr_view/damage_stays_with_its_chunk_check.py");
}

TEST_F(ZarrTest, FollowsAFileThatGrows) {
  write_growing(R"(
f.create_dataset('d', data=np.arange(1000), chunks=(300,), maxshape=(None,), compression='gzip')
)",
                R"(
f['d'].resize((2000,)); f['d'][1000:] = np.arange(1000, 2000)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("zarr_view/follows_a_file_that_grows_check.py");
}

// A tool of numcodecs, written by others, decodes every chunk.
TEST_VIEW(ZarrTest, StoredChunksAreTheFilesOwnBytes,
          "zarr_view/stored_chunks_are_the_files_own_bytes_file.py",
          "zarr_view/stored_chunks_are_the_files_own_bytes_check.py")

// Filters that h5py does not have by itself; frames around what is not compressed are those of the codecs.
TEST_VIEW(ZarrTest, StoredChunksOfOtherCompressors, "zarr_view/stored_chunks_of_other_compressors_file.py",
          "zarr_view/stored_chunks_of_other_compressors_check.py")

}  // namespace
}  // namespace h5mount::test
