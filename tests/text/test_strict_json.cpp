// What JSON has no numbers for.
#include "h5mount/text/strict_json.h"

#include <gtest/gtest.h>

namespace h5mount::text {
namespace {

TEST(StrictJson, WhatIsNotFiniteIsAString) {
  EXPECT_EQ(strict_json("NaN"), R"("NaN")");
  EXPECT_EQ(strict_json(R"([1.5,-Infinity,[Infinity,NaN],{"a":NaN,"NaN":-2.0e+30}])"),
            R"([1.5,"-Infinity",["Infinity","NaN"],{"a":"NaN","NaN":-2.0e+30}])");
}

TEST(StrictJson, SoIsWhatNoDoubleHolds) {
  EXPECT_EQ(strict_json("1.8e+308"), R"("1.8e+308")");
  EXPECT_EQ(strict_json("[-1e4000,1.7976931348623157e+308,1e-5000,0.0]"),
            R"(["-1e4000",1.7976931348623157e+308,1e-5000,0.0])");
}

TEST(StrictJson, NanMayBeNull) {
  EXPECT_EQ(strict_json(R"([NaN,Infinity,"NaN"])", NotFinite::NanIsNull), R"([null,"Infinity","NaN"])");
}

TEST(StrictJson, ListsOfNumbersMayOverflow) {
  EXPECT_EQ(strict_json("[-Infinity,1.0,Infinity,1e4000,NaN]", NotFinite::Overflowing),
            R"([-1e999,1.0,1e999,1e4000,"NaN"])");
}

TEST(StrictJson, StringsAndOtherWordsStay) {
  for (const char* text : {R"("a \" NaN")", R"(["\\",true,false,null,-1])", R"({"Infinity":"[NaN,"})", "",
                           "\"", R"("\)", R"({"a":"0x00e9"})"})
    EXPECT_EQ(strict_json(text), text);
}

}  // namespace
}  // namespace h5mount::text
