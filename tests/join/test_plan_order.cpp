// Rule 7: the order of files, and which are left out.
#include <gtest/gtest.h>

#include <cmath>

#include "cards.h"

namespace h5mount::join::test {

namespace {

using ::testing::Test;
using Names = std::vector<std::string>;

TEST(PlanOrder, FilesAreOrderedByTheirFirstValue) {
  const auto plan = planned({daily("b.nc", {31, 32}, series(2)), daily("c.nc", {60}, series(1)),
                             daily("a.nc", {0, 1, 2}, series(3))});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"a.nc", "b.nc", "c.nc"}));
  EXPECT_EQ(plan->files[2].position, 5U);
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(*member.starts, (std::vector<std::uint64_t>{0, 3, 5, 6}));
  EXPECT_EQ(member.starts, plan->find("time")->starts);  // shared
  EXPECT_EQ(member.space.dims, (std::vector<std::uint64_t>{6}));
  EXPECT_EQ(member.axis, 0U);
  EXPECT_EQ(member.files, 3U);
  EXPECT_EQ(member.card->path, "t2m");
  EXPECT_EQ(member.from, 0U);
}

TEST(PlanOrder, TimesOfDifferentUnitsAreOrderedAsMoments) {
  // 2 days; 47 hours; 1 day and 82,800 seconds and a half.
  File days("days.nc"), hours("hours.nc"), seconds("seconds.nc");
  days.axis("time", whole(4), {2}, "days since 2000-01-01").add(series(1));
  hours.axis("time", whole(4), {46}, "hours since 2000-01-01").add(series(1));
  seconds.axis("time", kF8, {82800.5}, "seconds since 2000-01-02").add(series(1));
  const auto plan = planned({days, seconds, hours});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"hours.nc", "seconds.nc", "days.nc"}));
}

TEST(PlanOrder, MomentsAreExact) {
  // 2^53 + 1 microseconds are no double: between them and 2^53 there is none.
  File whole_number("a.nc"), next("b.nc");
  MemberCard time = variable("time", whole(8), {1}, {"time"});
  set(time, "units", "microseconds since 1970-01-01");
  const std::int64_t large = std::int64_t{1} << 53;
  whole_number.axis(time, {0}).add(series(1));
  next.axis(time, {0}).add(series(1));
  FileCard a = *FileCardPtr(whole_number), b = *FileCardPtr(next);
  a.axes[0].first.whole = a.axes[0].last.whole = large + 1;
  b.axes[0].first.whole = b.axes[0].last.whole = large;
  const auto plan = planned({std::make_shared<FileCard>(a), std::make_shared<FileCard>(b)});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"b.nc", "a.nc"}));
}

TEST(PlanOrder, Case17ForecastsThatOverlapAreNamed) {
  const std::vector<FileCardPtr> cards = {daily("a.nc", {0, 31}, series(2)),
                                          daily("b.nc", {30, 60}, series(2))};
  const auto plan = planned(cards);
  EXPECT_EQ(
      text(plan->error),
      "a.nc has /time in [2000-01-01T00:00:00, 2000-02-01T00:00:00], b.nc in [2000-01-31T00:00:00, "
      "2000-03-01T00:00:00]: they overlap (join_order=name joins them anyway, match= leaves files out)");
  EXPECT_EQ(plan->files.size(), 2U);
  EXPECT_TRUE(plan->members.empty());
  const auto anyway = planned(cards, by_name("time"));
  ASSERT_FALSE(anyway->error);
  EXPECT_EQ(anyway->find("t2m")->space.dims[0], 4U);
}

TEST(PlanOrder, Case18TheLastStepRepeatedAsTheFirst) {
  const auto plan = planned({daily("a.nc", {0, 1}, series(2)), daily("b.nc", {1, 2}, series(2))});
  EXPECT_NE(text(plan->error).find("a value is repeated (join_order=name"), std::string::npos);
  EXPECT_NE(text(plan->error).find("a.nc has /time in ["), std::string::npos);
}

TEST(PlanOrder, Case19DescendingAxis) {
  const auto level = [](std::string name, std::vector<double> values) {
    File out(std::move(name));
    out.axis("level", kF4, values, "hPa");
    return out;
  };
  const auto plan =
      planned({level("low.nc", {200, 100}), level("single.nc", {50}), level("high.nc", {1000, 850, 500})},
              along("level"));
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"high.nc", "low.nc", "single.nc"}));
  const auto mixed = planned({level("down.nc", {200, 100}), level("up.nc", {300, 400})}, along("level"));
  EXPECT_EQ(
      text(mixed->error),
      "/level ascends in up.nc and descends in down.nc (join_order=name joins them anyway, match= leaves "
      "files out)");
  EXPECT_NE(text(planned({level("a.nc", {1, 3, 2})}, along("level"))->error).find("neither ascends nor"),
            std::string::npos);
}

TEST(PlanOrder, MissingValuesOnTheAxisAreRefused) {
  const auto plan = planned({daily("a.nc", {0, std::nan(""), 2}, series(3))});
  EXPECT_NE(text(plan->error).find("a value of /time in a.nc is missing"), std::string::npos);
}

TEST(PlanOrder, Case20FilesWithoutRecordsAreLast) {
  const auto plan = planned({daily("10.nc", {}, series(0)), daily("9.nc", {}, series(0)),
                             daily("b.nc", {1}, series(1)), daily("a.nc", {2}, series(1))});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"b.nc", "a.nc", "9.nc", "10.nc"}));
  EXPECT_EQ(*plan->find("t2m")->starts, (std::vector<std::uint64_t>{0, 1, 2, 2, 2}));
  // They count in rule 3.
  const auto wider = planned({daily("a.nc", {2}, series(1)), daily("b.nc", {}, series(0, kF8))});
  EXPECT_EQ(wider->find("t2m")->type->size, 8U);
}

TEST(PlanOrder, Case34And39NamesOrderWhereThereIsNoCoordinate) {
  // The dimension is a scale without values.
  const auto file = [](std::string name, std::uint64_t length) {
    File out(std::move(name));
    MemberCard scale = variable("time", kF4, {length}, {"time"});
    scale.is_scale = scale.is_coordinate = scale.without_values = true;
    return out.add(scale).add(variable("x", kF4, {length}, {"time"})).add(variable("y", kF4, {length}));
  };
  const auto plan = planned(
      {file("run10.nc", 1), file("run9.nc", 2), file("b/1.nc", 3), file("a/1.nc", 4), file("\xFF.nc", 5)});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"a/1.nc", "b/1.nc", "run9.nc", "run10.nc", "\xFF.nc"}));
  EXPECT_EQ(plan->find("x")->space.dims[0], 15U);
  // A dimension whose name is not known is not the axis, even of equal length.
  EXPECT_FALSE(plan->find("y")->axis);
}

TEST(PlanOrder, OrderAsGiven) {
  Options options = along("time");
  options.order = Order::Given;
  const auto plan = planned({daily("b.nc", {1}, series(1)), daily("a.nc", {0}, series(1))}, options);
  EXPECT_EQ(names(*plan), (Names{"b.nc", "a.nc"}));
}

TEST(PlanOrder, CoordinateInSomeFilesOnly) {
  File bare("bare.nc");
  bare.add(series(2));
  const auto plan = planned({daily("a.nc", {0}, series(1)), bare});
  EXPECT_EQ(
      text(plan->error),
      "a.nc has the coordinate /time, bare.nc has none (join_order=name joins them anyway, match= leaves "
      "files out)");
  const auto anyway = planned({daily("a.nc", {0}, series(1)), bare}, by_name("time"));
  ASSERT_FALSE(anyway->error);
  EXPECT_EQ(anyway->find("t2m")->space.dims[0], 3U);
  EXPECT_NE(text(anyway->find("time")->error).find("can have no gap"), std::string::npos);
}

TEST(PlanOrder, FilesThatCannotBeHad) {
  File broken("broken.nc");
  broken.card().error = Error(ErrorCode::BadSignature, "it is netCDF classic");
  broken.card().members.clear();
  const auto plan = planned({daily("a.nc", {0}, series(1)), broken});  // case 44
  ASSERT_FALSE(plan->error);
  ASSERT_EQ(plan->left_out.size(), 1U);
  EXPECT_EQ(plan->left_out[0].why.text(), "it is netCDF classic");
  File plain("plain.h5");
  plain.add(variable("x", kF4, {3}));
  const auto shifted = planned({plain, broken}, along(":0"));
  EXPECT_NE(text(shifted->error)
                .find("broken.nc cannot be had (it is netCDF classic), and as the axis has no coordinate"),
            std::string::npos);
  File other("other.nc");
  other.add(variable("x", kF4, {3}, {"lat"}));
  const auto without = planned({daily("a.nc", {0}, series(1)), other});
  ASSERT_EQ(without->left_out.size(), 1U);
  EXPECT_EQ(without->left_out[0].why.text(), "no variable of it has the dimension time");
  EXPECT_NE(text(planned({other})->error).find("no file can be joined; other.nc: no variable"),
            std::string::npos);
  EXPECT_EQ(text(planned({})->error), "there is no file to join");
}

TEST(PlanOrder, OneUnreadableCoordinateLeavesItsFileOut) {
  FileCard broken = *FileCardPtr(daily("b.nc", {1}, series(1)));
  broken.axes[0].readable = false;
  const auto plan = planned({daily("a.nc", {0}, series(1)), std::make_shared<FileCard>(broken)});
  ASSERT_FALSE(plan->error);
  EXPECT_EQ(names(*plan), (Names{"a.nc"}));
  EXPECT_EQ(plan->left_out.size(), 1U);
}

TEST(PlanOrder, GrowingFilesMustBeLast) {
  File early = daily("early.nc", {0}, series(1)), late = daily("late.nc", {1}, series(1));
  File empty = daily("empty.nc", {}, series(0));
  late.card().may_grow = true;
  const auto plan = planned({late, empty, early});
  ASSERT_FALSE(plan->error);
  // Behind the file without records, so that no other is shifted.
  EXPECT_EQ(names(*plan), (Names{"early.nc", "empty.nc", "late.nc"}));
  early.card().may_grow = true;
  const auto both = planned({late, empty, early});
  EXPECT_EQ(names(*both), (Names{"empty.nc", "late.nc"}));
  ASSERT_EQ(both->left_out.size(), 1U);
  EXPECT_NE(both->left_out[0].why.text().find("a writer still has it open"), std::string::npos);
}

TEST(PlanOrder, DimensionsOfOneNameInSeveralGroups) {  // case 32
  const auto file = [](std::string name, std::vector<double> main, std::vector<double> fine) {
    File out(std::move(name));
    out.add(group("fine"));
    out.axis("time", kF8, main, "days since 2000-01-01");
    out.axis("fine/time", kF8, fine, "days since 2000-01-01");
    return out.add(variable("x", kF4, {main.size()}, {"time"}))
        .add(variable("fine/y", kF4, {fine.size()}, {"fine/time"}));
  };
  const auto plan = planned({file("b", {1}, {1, 1.5}), file("a", {0}, {0, 0.25, 0.5})});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (Names{"a", "b"}));
  EXPECT_EQ(*plan->find("x")->starts, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(*plan->find("fine/y")->starts, (std::vector<std::uint64_t>{0, 3, 5}));
  EXPECT_EQ(plan->files[1].position, 1U);
  const auto apart = planned({file("b", {1}, {0}), file("a", {0}, {1})});
  EXPECT_NE(text(apart->error).find("has /fine/time in"), std::string::npos) << text(apart->error);
}

TEST(PlanOrder, CalendarsThatDiffer) {  // case 13
  File a("a.nc"), b("b.nc"), c("c.nc");
  a.axis("time", kF8, {0}, "days since 2000-01-01", "gregorian").add(series(1));
  b.axis("time", kF8, {1}, "days since 2000-01-01", "standard").add(series(1));
  c.axis("time", kF8, {2}, "days since 2000-01-01", "noleap").add(series(1));
  const auto plan = planned({a, b});
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_FALSE(plan->find("time")->error);
  EXPECT_NE(text(planned({a, c})->error).find("a.nc has /time in the calendar gregorian, c.nc in noleap"),
            std::string::npos);
  // By name all else is joined.
  const auto anyway = planned({a, c}, by_name("time"));
  EXPECT_NE(text(anyway->find("time")->error).find("calendar"), std::string::npos);
  EXPECT_FALSE(anyway->find("t2m")->error);
}

TEST(PlanOrder, Case42And43LengthsBeyondWhatAFileCanBe) {
  const auto file = [](std::string name, std::uint64_t length) {
    return File(std::move(name)).add(variable("x", kF4, {length}, {"time"}));
  };
  const auto long_axis = planned({file("a", 1ULL << 62), file("b", 1ULL << 62)});
  EXPECT_NE(text(long_axis->error).find("longer than 2^63"), std::string::npos);
  EXPECT_EQ(long_axis->error->code(), ErrorCode::InvalidValue);
  const auto bytes = planned({file("a", 1ULL << 61), file("b", 1)});
  ASSERT_FALSE(bytes->error);
  EXPECT_NE(text(bytes->find("x")->error).find("more than 2^63 bytes; a has [2305843009213693952]"),
            std::string::npos)
      << text(bytes->find("x")->error);
}

}  // namespace

}  // namespace h5mount::join::test
