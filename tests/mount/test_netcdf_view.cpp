// The Zarr stores of netCDF files through the mount: what xarray, ncdump, cdo and ncks see there is what they
// see in the file.
#include <algorithm>

#include "views.h"

namespace h5mount::test {
namespace {

std::filesystem::path script(const std::string& name) {
  return source_root() / "tests/view" / name;
}

class NetcdfTest : public ViewsTest {
 protected:
  // Of a file in the test's directory, or of any other.
  void compare(const std::filesystem::path& file, const std::string& options = {}) {
    ASSERT_TRUE(mounts(file)) << said;
    const Outcome seen = run("/usr/bin/python3 " + script("compare_netcdf.py").string() + " " + options +
                                 " " + mount.path(".h5") + " " + (place / file).string(),
                             300);
    EXPECT_EQ(seen.code, 0) << seen.out << seen.err;
  }
  // The directory of what netcdf_files.py writes, once for all tests.
  static const std::filesystem::path& made_files() {
    static const std::filesystem::path files = [] {
      const auto place = scratch() / "netcdf";
      std::filesystem::create_directory(place);
      const Outcome made =
          run("/usr/bin/python3 " + script("netcdf_files.py").string() + " " + place.string(), 300);
      EXPECT_EQ(made.code, 0) << made.err;
      return place;
    }();
    return files;
  }
};

class MadeNetcdfTest : public NetcdfTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(MadeNetcdfTest, XarraySeesThroughTheStoresWhatItSeesInTheFile) {
  compare(made_files() / (GetParam() + ".nc"));
}
INSTANTIATE_TEST_SUITE_P(Files, MadeNetcdfTest,
                         ::testing::Values("unlimited", "records", "groups", "fill_values", "packed",
                                           "attributes", "characters", "figures", "coordinates", "shorter",
                                           "orders", "not_numbers", "hidden_names", "without_scales",
                                           "some_scales", "linked_scales"),
                         [](const auto& parameter) { return parameter.param; });

TEST_F(NetcdfTest, ToolsThatNetcdfBringsGiveTheFilesFigures) {
  compare(made_files() / "figures.nc", "--tools");
}

std::vector<std::string> shared_files() {
  std::vector<std::string> out;
  const auto place = shared_corpus();
  if (!place) return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*place)) {
    const std::string extension = entry.path().extension();
    const bool hostile = entry.path().string().find("/hostile/") != std::string::npos;
    std::string magic(3, '\0');
    std::ifstream(entry.path()).read(magic.data(), 3);
    if (!hostile && (extension == ".nc" || extension == ".nc4") && magic != "CDF")  // netCDF 3
      out.push_back(std::filesystem::relative(entry.path(), *place));
  }
  std::ranges::sort(out);
  return out;
}

class SharedNetcdfTest : public NetcdfTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(SharedNetcdfTest, XarraySeesThroughTheStoresWhatItSeesInTheFile) {
  compare(*shared_corpus() / GetParam());
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SharedNetcdfTest);
INSTANTIATE_TEST_SUITE_P(Corpus, SharedNetcdfTest, ::testing::ValuesIn(shared_files()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

// Several unlimited dimensions, of which netCDF-C itself gives memory that nobody wrote to.
TEST_F(NetcdfTest, VariablesAreAsLongAsTheirUnlimitedDimensions) {
  write(R"(
import netCDF4
with netCDF4.Dataset('f.h5', 'w') as n:
    n.createDimension('rec', None); n.createDimension('time', None)
    n.createVariable('long', 'i4', ('rec',))[:] = [1, 2, 3]
    n.createVariable('short', 'i4', ('rec',), fill_value=-5)[:] = [1, 2]
    n.createVariable('time', 'f8', ('time',))[:] = [1, 2]
    n.createVariable('more', 'f8', ('time',))[:] = [1, 2, 3, 4]
    n.createVariable('both', 'i2', ('time', 'rec'), zlib=True, chunksizes=(2, 2), fill_value=9)[:] = [[1, 2]]
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("longer_variables.py");
}

TEST_F(NetcdfTest, NamesOfAGrowingDimensionStay) {
  write_growing(R"(
scale = f.create_dataset('rec', shape=(0,), maxshape=(None,), chunks=(4,), dtype='f4')
scale.make_scale('This is a netCDF dimension but not a netCDF variable.         0')
d = f.create_dataset('d', data=np.arange(10), chunks=(4,), maxshape=(None,))
d.dims[0].attach_scale(scale)
)",
                R"(
f['d'].resize((20,)); f['d'][10:] = np.arange(10, 20)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
import xarray
def now():
    x = xarray.open_zarr(V + '/plain.zarr')
    assert x['d'].dims == ('rec',), x['d'].dims
    return x['d'].values
same(now(), np.arange(10))
advance(1)
until(lambda: len(now()) == 20, 'the dimension grows')
same(now(), np.arange(20))
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
