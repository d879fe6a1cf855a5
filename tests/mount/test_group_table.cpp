// Groups of equally long datasets as tables: /.h5/csv/GROUP.csv and the like, held against h5py.
#include "views.h"

namespace h5mount::test {
namespace {

class GroupTableTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from group_reader import *\n" + statements);
  }
};

TEST_VIEW(GroupTableTest, ColumnsAreTheDatasetsOfOneDimension,
          "group_table/columns_are_the_datasets_of_one_dimension_file.py",
          "group_table/columns_are_the_datasets_of_one_dimension_check.py")
TEST_VIEW(GroupTableTest, LinksNamesAndCollisions, "group_table/links_names_and_collisions_file.py",
          "group_table/links_names_and_collisions_check.py")
TEST_VIEW(GroupTableTest, DamageIsAnErrorForTheRowsThatNeedIt,
          "group_table/damage_is_an_error_for_the_rows_that_need_it_file.py",
          "group_table/damage_is_an_error_for_the_rows_that_need_it_check.py")

TEST_F(GroupTableTest, FollowsTheShortestOfGrowingDatasets) {
  write_growing(R"(
g = f.create_group('g')
for name in 'xy': g.create_dataset(name, data=np.arange(5000), chunks=(300,), maxshape=(None,))
)",
                R"(
d = f['g/x' if n % 2 else 'g/y']
old = len(d); d.resize((old + 777,)); d[old:] = np.arange(old, old + 777)
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK_BY("group_table/follows_the_shortest_of_growing_datasets_check.py");
}

}  // namespace
}  // namespace h5mount::test
