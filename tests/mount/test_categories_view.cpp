// Categorical data in both of AnnData's forms: tables have their names.
#include "views.h"

namespace h5mount::test {
namespace {

class CategoriesTest : public ViewsTest {
 protected:
  Outcome check(const std::string& statements) const {
    return ViewsTest::check("from parquet_reader import *\nfrom categories_reader import *\n" + statements);
  }
};

TEST_VIEW(CategoriesTest, TablesHaveTheirNames, "categories_view/tables_have_their_names_file.py",
          "categories_view/tables_have_their_names_check.py")
TEST_VIEW(CategoriesTest, EachIsATableOfOneColumnAndItsCodesAreFiles,
          "categories_view/each_is_a_table_of_one_column_file.py",
          "categories_view/each_is_a_table_of_one_column_check.py")

TEST_F(CategoriesTest, WhatOnlyLooksLikeThemIsNumbers) {
  write_by("categories_view/what_only_looks_like_them_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
got = read('csv/others.csv')
assert got == b'float,group,null,table,text\n1.0,1,1,1,1\n2.0,2,2,2,2\n', got
)");
}

TEST_F(CategoriesTest, ACodeWithoutANameIsAnErrorOfItsRow) {
  write_by("categories_view/a_code_without_a_name_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for form in ('old', 'new'):
    size = os.path.getsize(V + '/csv/%s/kind.csv' % form)
    assert size == len('value\n') + 2 * 100000 - 1  # one byte in place of the row
    assert error('csv/%s/kind.csv' % form, 0, 100000) is None
    assert error('csv/%s/kind.csv' % form, size - 4096, 4096) is None
    assert error('csv/%s/kind.csv' % form, 6 + 2 * 70000) == 'EIO'
    assert error('parquet/%s/kind.parquet' % form, 1000) == 'EIO'
)");
}

TEST_VIEW(CategoriesTest, ManyLongNames, "categories_view/many_long_names_file.py",
          "categories_view/many_long_names_check.py")

TEST_F(CategoriesTest, NamesAndCodesAreFollowed) {
  write_growing(R"(
g = f.create_group('g')
g.attrs['encoding-type'] = 'categorical'
g.create_dataset('codes', data=np.zeros(5000, 'i1'), chunks=(300,), maxshape=(None,))
g.create_dataset('categories', data=np.array([b'name0'], 'S8'), chunks=(10,), maxshape=(None,))
)",
                R"(
names, codes = f['g/categories'], f['g/codes']
names.resize((n + 1,)); names[n] = b'name%d' % n
f.flush()
codes.resize((5000 + 777 * n,)); codes[-777:] = n
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  H5MOUNT_CHECK(R"(
for n in range(1, 5):
    advance(n)
    want = 'value\n' + 'name0\n' * 5000 + ''.join(('name%d\n' % i) * 777 for i in range(1, n + 1))
    until(lambda: read('csv/g.csv').decode() == want, 'csv')
    until(lambda: [row['value'] for row in objects('ndjson/g.ndjson')] == want.split()[1:], 'ndjson')
    until(lambda: list(parquet('parquet/g.parquet')[0]['value']) == want.split()[1:], 'parquet')
finish()
)");
}

}  // namespace
}  // namespace h5mount::test
