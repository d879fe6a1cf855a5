// Every file below /.h5/decoded is read: what it says is held against its readers in tests/mount.
#include <gtest/gtest.h>

#include "shown_tree.h"

namespace h5mount::test {
namespace {

TEST(Decoded, EveryFileOfEveryView) {
  const ShownTree tree(written_by_program("tree/fixtures/packed.py"));
  std::size_t files = 0;
  for (const std::string& name : tree.below(".h5/decoded")) {
    if (name.ends_with('/')) continue;
    EXPECT_NE(tree.text(".h5/decoded/" + name), "cannot be read") << name;
    ++files;
  }
  EXPECT_GT(files, 8U * 60U);
  EXPECT_EQ(tree.text(".h5/decoded/text/times/noleap/i2"),
            "2000-03-01T00:00:00\n2000-03-02T00:00:00\n2000-03-03T00:00:00\n");
  EXPECT_EQ(tree.text(".h5/decoded/csv/times/360_day/f4.csv"),
            "value\n2000-02-30T00:00:00.000000\n2000-03-01T00:00:00.000000\n2000-03-02T00:00:00.000000\n");
  EXPECT_EQ(tree.text(".h5/decoded/csv/packed/>u2.csv"),
            "0,1,2\n0.0,0.5,1.0\n1.5,2.0,2.5\n3.0,,4.0\n4.5,5.0,5.5\n");
  EXPECT_EQ(tree.text(".h5/decoded/raw/times/julian/u1").substr(0, 20), "2000-02-29T00:00:00\n");
  EXPECT_EQ(tree.text(".h5/decoded/text/odd/flags"), "no\nyes\n9\n");
  EXPECT_EQ(tree.text(".h5/decoded/csv/odd/words.csv"), "value\nab\nc\n");
  for (const char* odd : {"0", "1", "2", "3", "4"})
    EXPECT_EQ(tree.text(std::string(".h5/decoded/text/odd/") + odd), "0\n1\n2\n") << odd;
}

}  // namespace
}  // namespace h5mount::test
