#include "h5mount/base/late_library.h"

#include <gtest/gtest.h>

#include <cmath>

namespace h5mount {
namespace {

TEST(LateLibrary, OneThatIsMissingIsAnErrorThatNamesIt) {
  LateLibrary library("libnothing-of-this-name.so.7");
  for (int i = 0; i < 2; ++i) {
    const Status loaded = library.load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), ErrorCode::UnsupportedFeature);
    EXPECT_NE(loaded.error().text().find("libnothing-of-this-name.so.7"), std::string::npos);
  }
}

TEST(LateLibrary, FunctionsAreTheLibrarysOwn) {
  LateLibrary library("libm.so.6");
  ASSERT_TRUE(library.load());
  const auto root = reinterpret_cast<double (*)(double)>(library.function("sqrt"));
  EXPECT_EQ(root(9.0), 3.0);
}

TEST(LateLibraryDeathTest, AFunctionThatIsMissingEndsTheProgram) {
  LateLibrary library("libm.so.6");
  EXPECT_DEATH((void)library.function("no_such_function"), "libm.so.6 has no function no_such_function");
}

}  // namespace
}  // namespace h5mount
