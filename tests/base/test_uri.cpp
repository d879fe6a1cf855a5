#include <gtest/gtest.h>

#include "h5mount/base/uri.h"

namespace h5mount {
namespace {

TEST(Percent, APathIsEncodedAsS3HasIt) {
  EXPECT_EQ(encode_path("/a b/c+d=e:f!'()*@~-._%/\xe1\x88\xb4"),
            "/a%20b/c%2Bd%3De%3Af%21%27%28%29%2A%40~-._%25/%E1%88%B4");
  EXPECT_EQ(encode_component("a/b"), "a%2Fb");
}

TEST(Percent, DecodingTakesTwoDigitsAndLeavesOthers) {
  EXPECT_EQ(decode_percent("a%20b%2fc+"), "a b/c+");
  EXPECT_EQ(decode_percent("%"), "%");
  EXPECT_EQ(decode_percent("%4"), "%4");
  EXPECT_EQ(decode_percent("%4g%-1%+1"), "%4g%-1%+1");
  EXPECT_EQ(decode_percent("%41"), "A");
}

TEST(Percent, AQueryHasItsParametersInTheirOrder) {
  EXPECT_EQ(decode_query("b=1&a&b=%3D&&c==x"), (Fields{{"b", "1"}, {"a", ""}, {"b", "="}, {"c", "=x"}}));
  EXPECT_EQ(encode_query({{"prefix", "a/b c"}, {"list-type", "2"}}), "prefix=a%2Fb%20c&list-type=2");
  EXPECT_TRUE(decode_query("").empty());
}

}  // namespace
}  // namespace h5mount
