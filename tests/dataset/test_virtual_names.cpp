#include "virtual/virtual_names.h"

#include <gtest/gtest.h>

namespace h5mount::dataset {
namespace {

TEST(VirtualNames, NumbersAndPercentSigns) {
  EXPECT_TRUE(has_block_number("a%b.h5"));
  EXPECT_FALSE(has_block_number("a%%b.h5"));
  EXPECT_EQ(numbered_name("f-%b-%b.h5", 12), "f-12-12.h5");
  EXPECT_EQ(numbered_name("100%%-%b", 3), "100%-3");
  EXPECT_EQ(plain_name("50%%%x"), "50%%x");
}

}  // namespace
}  // namespace h5mount::dataset
