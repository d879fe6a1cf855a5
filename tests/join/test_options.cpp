#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>

#include "cards/date_form.h"
#include "cards/path_pattern.h"
#include "h5mount/join/card.h"
#include "h5mount/join/options.h"

namespace h5mount::join {
namespace {

Axis axis_of(std::string_view text) {
  const auto axis = parse_axis(text);
  EXPECT_TRUE(axis) << text << ": " << axis.error().text();
  return axis.value_or(Axis());
}

TEST(JoinOptions, EachFormIsAnAxis) {
  using enum Axis::Source;
  const struct {
    std::string_view text;
    Axis::Kind kind;
    std::string_view name;
    Axis::Source source;
    std::string_view of;
  } cases[] = {
      {"time", Axis::Kind::Existing, "time", None, ""},
      {"time:'%Y%m%d'", Axis::Kind::Existing, "time", Date, "%Y%m%d"},
      {"time:%Y-%j", Axis::Kind::Existing, "time", Date, "%Y-%j"},
      {"+run", Axis::Kind::New, "run", None, ""},
      {"+run:'run_(\\d+)\\.h5'", Axis::Kind::New, "run", Pattern, "run_(\\d+)\\.h5"},
      {"+run:a:(.)", Axis::Kind::New, "run", Pattern, "a:(.)"},
      {"+time:'%Y%m%dT%H%M%S'", Axis::Kind::New, "time", Date, "%Y%m%dT%H%M%S"},
      {"+run:@member", Axis::Kind::New, "run", Attribute, "member"},
      {"+run:'@/scan@number'", Axis::Kind::New, "run", Attribute, "/scan@number"},
      {"union", Axis::Kind::Union, "", None, ""},
      {"+union", Axis::Kind::New, "union", None, ""},
  };
  for (const auto& one : cases) {
    const Axis axis = axis_of(one.text);
    EXPECT_EQ(axis.kind, one.kind) << one.text;
    EXPECT_EQ(axis.name, one.name) << one.text;
    EXPECT_EQ(axis.source, one.source) << one.text;
    EXPECT_EQ(axis.text, one.of) << one.text;
  }
  EXPECT_EQ(axis_of(":0").kind, Axis::Kind::First);
  EXPECT_EQ(axis_of(":1").dimension, 1U);
}

TEST(JoinOptions, BadOnesAreRefusedWithWords) {
  const struct {
    std::string_view text, words;
  } cases[] = {
      {"", "the axis has no name"},
      {"+", "the axis has no name"},
      {"+:'(a)'", "the axis has no name"},
      {":x", "no number of a dimension"},
      {":", "no number of a dimension"},
      {":-1", "no number of a dimension"},
      {":32", "no number of a dimension"},
      {"a/b", "no name has a `/`"},
      {"time:", "nothing is behind `:`"},
      {"time:abc", "no date form"},
      {"time:'%Q'", "has %Q"},
      {"time:'%Y%'", "ends with %"},
      {"time:'%m%d'", "has no year"},
      {"time:'%Y%d'", "without a month"},
      {"time:'%Y%m%j'", "beside a month"},
      {"time:'%Y%Y'", "twice"},
      {"+run:'run_(\\d+'", "unbalanced parenthesis"},
      {"+run:'run'", "has no group"},
      {"+run:'[a'", "unbalanced bracket"},
      {"+run:'(a)\\1'", "refers to a group"},
      {"+run:'(a{b})'", "bad number in braces"},
      {"+run:'(a{500}){500}'", "too long"},
      {"+run:@", "no attribute is named"},
      {"+run:@x@", "no attribute is named"},
  };
  for (const auto& one : cases) {
    const auto axis = parse_axis(one.text);
    ASSERT_FALSE(axis) << one.text;
    EXPECT_EQ(axis.error().code(), ErrorCode::InvalidValue) << one.text;
    EXPECT_TRUE(axis.error().text().contains(one.words)) << one.text << ": " << axis.error().text();
  }
}

TEST(JoinOptions, TheFirstGroupIsFound) {
  const auto group = [](std::string_view pattern, std::string_view path) {
    return PathPattern::make(pattern)->first_group(path).value_or("nothing");
  };
  EXPECT_EQ(group("run_(\\d+)\\.h5", "2020/run_0012.h5"), "0012");
  EXPECT_EQ(group("^(.*)/", "a/b/c.h5"), "a/b");
  EXPECT_EQ(group("(?:x|y)([a-f0-9]{2,4})", "zyabc9-"), "abc9");
  EXPECT_EQ(group("run_(\\d+)", "runs.h5"), "nothing");
  EXPECT_EQ(group("x|(y)", "x"), "nothing");
  EXPECT_EQ(group("(.)", std::string(1025, 'a')), "nothing");
}

// The least stack that a thread can have, all but.
TEST(JoinOptions, LongPathsNeedLittleStackAndTime) {
  struct Work {
    std::vector<PathPattern> patterns;
    std::vector<std::string> paths;
  } work;
  for (const std::string_view pattern :
       {"(a+)+b", "(a*)*b", "(a|a)*b", "(.*)(.*)(.*)x", "((a?){300})b", "^((?:a|b)+)+c", "(aa|a|aaa)+$x"})
    work.patterns.push_back(PathPattern::make(pattern).value());
  work.paths = {std::string(1024, 'a'), std::string(1024, '\xFF'), std::string(4096, 'a')};
  pthread_attr_t small;
  ASSERT_EQ(::pthread_attr_init(&small), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&small, 256U << 10), 0);
  pthread_t thread{};
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(::pthread_create(
                &thread, &small,
                [](void* data) -> void* {
                  const auto* const its = static_cast<Work*>(data);
                  for (const PathPattern& pattern : its->patterns)
                    for (const std::string& path : its->paths) EXPECT_FALSE(pattern.first_group(path));
                  return nullptr;
                },
                &work),
            0);
  ASSERT_EQ(::pthread_join(thread, nullptr), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::minutes(2));
}

TEST(JoinOptions, DatesAreFound) {
  const auto seconds = [](std::string_view form, std::string_view path) {
    const auto found = find_date(form, path);
    return found ? found->seconds : -1;
  };
  EXPECT_EQ(seconds("%Y%m%d", "era/era5_20200229.nc"), 1582934400);
  EXPECT_EQ(seconds("%Y%m%d", "era/era5_20210229.nc"), -1) << "no such day";
  EXPECT_EQ(seconds("%Y%m%d", "1234567890_20200229"), 1582934400) << "more digits are another number";
  EXPECT_EQ(seconds("%Y%m%d", "2020022912.nc"), 1582934400) << "unless there is none alone";
  EXPECT_EQ(seconds("%Y-%j", "x2020-366"), 1609372800);
  EXPECT_EQ(seconds("%Y-%j", "x2021-366"), -1);
  EXPECT_EQ(seconds("%Y-%j", "x2021-000"), -1);
  EXPECT_EQ(seconds("%Y%m%d_%H%M%S", "f19700102_030405"), 97445);
  EXPECT_EQ(seconds("%Y%m%d_%H%M%S", "f19700102_250000"), -1);
  EXPECT_EQ(seconds("%Y", "y1969/"), -31536000);
  EXPECT_EQ(seconds("%%%Y", "1970%1971"), 31536000);
  EXPECT_EQ(find_date("m%Y-%m", "sim2001-07.nc")->text, "m2001-07");
}

TEST(JoinOptions, NaturalOrderKnowsNumbers) {
  const std::vector<std::string_view> sorted = {"",
                                                "0",
                                                "00",
                                                "1",
                                                "9.nc",
                                                "010.nc",
                                                "10.nc",
                                                "99999999999999999999",
                                                "100000000000000000000",
                                                "a",
                                                "a/2",
                                                "a/10",
                                                "a-1",
                                                "a01",
                                                "a1",
                                                "a1b",
                                                "a2",
                                                "a10",
                                                "a10/b",
                                                "a10b",
                                                "b"};
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = 0; j < sorted.size(); ++j)
      EXPECT_EQ(natural_less(sorted[i], sorted[j]), i < j) << sorted[i] << " " << sorted[j];
}

}  // namespace
}  // namespace h5mount::join
