// Rule 5: times and other units.
#include <gtest/gtest.h>

#include "cards.h"
#include "h5mount/text/value_text.h"

namespace h5mount::join::test {

namespace {

struct Time {
  std::string units, calendar = "";
  std::vector<double> values = {0};
  DatatypePtr type = whole(4);
};
File timed(std::string name, const Time& time) {
  return File(std::move(name)).axis("time", time.type, time.values, time.units, time.calendar);
}
// The second file's times, as the plan rebases them: exact up to the division.
double rebased(const Treatment::Rebase& how, double value) {
  const double days = static_cast<double>(how.from.epoch_day - how.to.epoch_day);
  const double rest = static_cast<double>(how.from.epoch_microsecond - how.to.epoch_microsecond);
  return (value * static_cast<double>(how.from.unit) + days * double{meaning::kMicrosecondsOfDay} + rest) /
         static_cast<double>(how.to.unit);
}
double rebased(const Time& from, const Time& to, double value) {
  Options options = along("time");
  options.order = Order::Given;
  const auto plan = planned({timed("a", to), timed("b", from)}, options);
  const PlannedMember& member = *plan->find("time");
  EXPECT_FALSE(member.error) << text(member.error);
  return rebased(*treatment(member, 1).rebase, value);
}
std::string type_of_time(const PlanPtr& plan) {
  const PlannedMember& member = *plan->find("time");
  return member.error ? member.error->text() : text::datatype_text(*member.type);
}

TEST(PlanTime, Case12DaysAndHours) {
  const auto days = timed("a", {"days since 2000-01-01", "", {0, 1, 2}});
  // 54 and 60 hours are 2.25 and 2.5 days (cftime), no whole ones.
  const auto plan = planned({days, timed("b", {"hours since 2000-01-01", "", {54, 60}})});
  EXPECT_EQ(type_of_time(plan), "<f8");
  const PlannedMember& member = *plan->find("time");
  EXPECT_TRUE(member.rebased);
  EXPECT_TRUE(treatment(member, 0).nothing());
  EXPECT_FALSE(treatment(member, 1).rebase->to_integer);
  EXPECT_EQ(rebased(*treatment(member, 1).rebase, 54), 2.25);
  EXPECT_EQ(member.attributes_set,
            (std::vector<std::pair<std::string, std::string>>{{"units", "days since 2000-01-01"}}));
  EXPECT_TRUE(member.attributes_differ.empty());
  // Of the axis whole values stay so, though a day is no part of an hour.
  const auto whole_days = planned({days, timed("b", {"hours since 2000-01-01", "", {72, 96}})});
  EXPECT_EQ(type_of_time(whole_days), "<i8");
  EXPECT_TRUE(treatment(*whole_days->find("time"), 1).rebase->to_integer);
  // Hours hold all days.
  const auto hours = planned(
      {timed("a", {"hours since 2000-01-01", "", {0}}), timed("b", {"days since 2000-01-02", "", {0, 1}})});
  EXPECT_EQ(type_of_time(hours), "<i8");
  EXPECT_EQ(rebased(*treatment(*hours->find("time"), 1).rebase, 1), 48);
  // An epoch that is half an hour off.
  const auto half = planned({timed("a", {"hours since 2000-01-01", "", {0}}),
                             timed("b", {"hours since 2000-01-01 00:30", "", {1}})});
  EXPECT_EQ(type_of_time(half), "<f8");
  const auto refused =
      planned({days, timed("b", {"hours since 2000-01-01", "", {72}})}, along("time", Conflict::Refuse));
  EXPECT_NE(type_of_time(refused).find("a has units of 'days since 2000-01-01', b has units of 'hours since "
                                       "2000-01-01' (join_conflict=decode rebases times)"),
            std::string::npos);
}

TEST(PlanTime, Case13Calendars) {  // by cftime.date2num(cftime.num2date(...))
  const auto to = [](const char* calendar) { return Time{"days since 1-1-1", calendar}; };
  const auto from = [](const char* calendar) { return Time{"days since 2000-01-01", calendar}; };
  EXPECT_EQ(rebased(from("standard"), to("standard"), 0), 730121);
  EXPECT_EQ(rebased(from("proleptic_gregorian"), to("proleptic_gregorian"), 0), 730119);
  EXPECT_EQ(rebased(from("noleap"), to("noleap"), 0), 729635);
  EXPECT_EQ(rebased(from("360_day"), to("360_day"), 0), 719640);
  EXPECT_EQ(rebased(from("julian"), to("julian"), 0), 730134);
  EXPECT_EQ(rebased({"hours since 1999-12-31 12:00:00", "noleap"}, {"days since 1999-01-01", "noleap"}, 36),
            366);
  const auto plan = planned({timed("a", {"days since 2000-01-01", "gregorian", {0}}),
                             timed("b", {"days since 2001-01-01", "standard", {0}})});
  EXPECT_EQ(type_of_time(plan), "<i8");
  EXPECT_EQ(plan->find("time")->attributes_set[0].second, "gregorian");
  const auto apart = planned({timed("a", {"days since 2000-01-01", "standard", {0}}),
                              timed("b", {"days since 2001-01-01", "proleptic_gregorian", {0}})},
                             by_name("time"));
  EXPECT_NE(type_of_time(apart).find("a counts in the calendar standard, b in proleptic_gregorian"),
            std::string::npos);
}

TEST(PlanTime, Case14TimeZonesAndFractions) {  // by cftime
  EXPECT_EQ(rebased({"days since 2000-01-01 00:00:00.5 +01:00"}, {"seconds since 2000-01-01"}, 0), -3599.5);
  EXPECT_EQ(rebased({"hours since 1999-12-31T18:30:00.25"}, {"seconds since 2000-01-01"}, 0), -19799.75);
}

TEST(PlanTime, TextsOfOneEpochAreNoDifference) {
  const auto plan = planned({timed("a", {"days since 2000-01-01", "", {0}}),
                             timed("b", {"days since 2000-01-01 00:00:00", "", {1}})});
  const PlannedMember& member = *plan->find("time");
  EXPECT_FALSE(member.rebased);
  EXPECT_EQ(type_of_time(plan), "<i4");
  EXPECT_EQ(member.attributes_set[0].second, "days since 2000-01-01");
}

TEST(PlanTime, Case15BoundsWithoutUnits) {
  const auto file = [](std::string name, const Time& time) {
    File out = timed(std::move(name), time);
    MemberCard bounds = variable("time_bnds", whole(4), {time.values.size(), 2}, {"time", ""});
    bounds.bounds_time = bounds.is_coordinate = true;
    bounds.units = time.units;
    return out.add(bounds);
  };
  const auto plan =
      planned({file("a", {"days since 2000-01-01", "", {0}}), file("b", {"days since 2000-02-01", "", {0}})});
  const PlannedMember& member = *plan->find("time_bnds");
  ASSERT_FALSE(member.error);
  EXPECT_TRUE(member.rebased);
  EXPECT_EQ(rebased(*treatment(member, 1).rebase, 1), 32);
  EXPECT_TRUE(member.attributes_set.empty());
  EXPECT_EQ(text::datatype_text(*member.type), "<i8");
}

TEST(PlanTime, Case16TheEpochInTheName) {
  Options options = along("time");
  options.axis.source = Axis::Source::Date;
  options.axis.text = "%Y%m%d";
  const auto file = [](std::string name, std::int64_t seconds, const char* units) {
    File out = timed(std::move(name), {units, "", {0, 6}});
    MemberCard bounds = variable("bnds", kF8, {2, 2}, {"time", ""});
    bounds.bounds_time = true;
    bounds.units = units;
    MemberCard lead = variable("lead", whole(4), {2}, {"time"});
    set(lead, "units", "hours");
    return out.add(bounds).add(lead).label({Label::Kind::Time, Number{true, seconds, 0}, "x"});
  };
  // 2000-01-02 and 2000-01-01.
  const auto plan = planned({file("fc_20000102.nc", 946771200, "hours"),
                             file("fc_20000101.nc", 946684800, "hours"), timed("none.nc", {"hours"})},
                            options);
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (std::vector<std::string>{"fc_20000101.nc", "fc_20000102.nc"}));
  ASSERT_EQ(plan->left_out.size(), 1U);
  EXPECT_EQ(plan->left_out[0].why.text(), "its name does not match '%Y%m%d'");
  const PlannedMember& member = *plan->find("time");
  EXPECT_EQ(member.attributes_set[0].second, "hours since 2000-01-01 00:00:00");
  EXPECT_EQ(rebased(*treatment(member, 1).rebase, 6), 30);
  EXPECT_TRUE(treatment(member, 0).nothing());
  EXPECT_EQ(rebased(*treatment(*plan->find("bnds"), 1).rebase, 6), 30);
  EXPECT_FALSE(plan->find("lead")->rebased);  // a period
  // An epoch that stands in the file gives way, too.
  const auto since =
      planned({file("a", 0, "hours since 1900-01-01"), file("b", 86400, "hours since 1900-01-01")}, options);
  EXPECT_EQ(since->find("time")->attributes_set[0].second, "hours since 1970-01-01 00:00:00");
  EXPECT_EQ(rebased(*treatment(*since->find("time"), 1).rebase, 0), 24);
}

TEST(PlanTime, PackedTimesAreUnpackedAndRebased) {
  const auto file = [](std::string name, const char* units) {
    MemberCard card = packed(variable("time", whole(2), {1}, {"time"}), {.scale = 0.5, .fills = {bits(-1)}});
    set(card, "units", units);
    return File(std::move(name)).axis(card, {0});
  };
  const auto plan = planned({file("a", "days since 2000-01-01"), file("b", "days since 2000-02-01")});
  const PlannedMember& member = *plan->find("time");
  EXPECT_EQ(type_of_time(plan), "<f8");
  EXPECT_EQ(treatment(member, 0).unpack->scale, 0.5);
  EXPECT_FALSE(treatment(member, 0).rebase);
  EXPECT_EQ(rebased(*treatment(member, 1).rebase, 0), 31);
  EXPECT_TRUE(treatment(member, 1).rebase->keeps.empty());
  EXPECT_EQ(member.attributes_gone, (std::vector<std::string>{"_FillValue", "scale_factor"}));
}

TEST(PlanTime, FillsAreNoTimes) {
  const auto file = [](std::string name, double day, const char* units) {
    MemberCard card = packed(variable("obs", whole(4), {1}, {"time"}), {.fills = {bits(-9)}});
    set(card, "units", units);
    return daily(std::move(name), {day}, card);
  };
  const auto plan = planned({file("a", 0, "days since 2000-01-01"), file("b", 1, "hours since 2000-02-01")});
  const PlannedMember& member = *plan->find("obs");
  EXPECT_EQ(text::datatype_text(*member.type), "<f8");
  EXPECT_EQ(treatment(member, 1).rebase->keeps, (std::vector<std::uint64_t>{bits(-9)}));
  EXPECT_EQ(member.fill_value.size(), 8U);  // of the type that it has now
}

TEST(PlanTime, OtherUnits) {
  const auto with = [](const char* one, const char* other, Conflict conflict = Conflict::Decode) {
    MemberCard a = series(1), b = series(1);
    if (*one) set(a, "units", one);
    if (*other) set(b, "units", other);
    return text(
        planned({daily("a.nc", {0}, a), daily("b.nc", {1}, b)}, along("time", conflict))->find("t2m")->error);
  };
  EXPECT_EQ(with("K", "K"), "");
  EXPECT_EQ(
      with("K", "degC"),
      "/t2m: a.nc has units of 'K', b.nc has units of 'degC' (join_conflict=first takes all for those of the "
      "first, match= leaves files out)");
  EXPECT_NE(with("K", "").find("b.nc has no units"), std::string::npos);
  EXPECT_EQ(with("K", "degC", Conflict::First), "");
  EXPECT_NE(with("months since 2000-01-01", "months since 2001-01-01").find("not both of a fixed length"),
            std::string::npos);
  EXPECT_EQ(with("months since 2000-01-01", "months since 2000-01-01"), "");
}

TEST(PlanTime, CopiesOfOneMoment) {
  const auto with = [](const char* units, std::int64_t value) {
    MemberCard card = variable("reference", whole(4), {});
    set(card, "units", units);
    card.numbers = {Number{true, value, 0}};
    card.values = card.decoded = digest(std::to_string(value));
    return card;
  };
  const auto plan = [&](MemberCard a, MemberCard b) {
    return planned({daily("a.nc", {0}, std::move(a)), daily("b.nc", {1}, std::move(b))});
  };
  const auto same = plan(with("days since 2000-01-01", 1), with("hours since 2000-01-01", 24));
  EXPECT_FALSE(same->find("reference")->error) << text(same->find("reference")->error);
  EXPECT_TRUE(same->find("reference")->attributes_differ.empty());
  EXPECT_TRUE(
      plan(with("days since 2000-01-01", 1), with("hours since 2000-01-01", 1))->find("reference")->error);
}

TEST(PlanTime, UnsignedAndLargeTimes) {
  const auto file = [](std::string name, MemberCard card, const char* units) {
    set(card, "units", units);
    return File(std::move(name)).axis(card, {0});
  };
  // Stored as signed, read as unsigned: that is rebased.
  MemberCard read = variable("time", whole(4), {1}, {"time"});
  read.packing->read_as = read.packing->shown = NumberKind::U32;
  const auto plan =
      planned({file("a", read, "days since 2000-01-01"), file("b", read, "days since 2000-02-01")});
  EXPECT_EQ(treatment(*plan->find("time"), 1).unpack->shown, NumberKind::U32);
  EXPECT_EQ(type_of_time(plan), "<i8");
  // Of 64 bits without a sign: what int64 does not hold must be an error, of the first file too.
  const MemberCard large = variable("time", whole(8, false), {1}, {"time"});
  const auto both =
      planned({file("a", large, "days since 2000-01-01"), file("b", large, "days since 2000-02-01")});
  EXPECT_TRUE(treatment(*both->find("time"), 0).rebase->to_integer);
  EXPECT_TRUE(treatment(*both->find("time"), 1).rebase->to_integer);
}

TEST(PlanTime, CalendarsOfUnitsThatAreNotCounted) {
  const auto file = [](std::string name, double day, const char* calendar) {
    MemberCard card = variable("obs", whole(4), {1}, {"time"});
    set(card, "units", "months since 2000-01-01"), set(card, "calendar", calendar);
    return daily(std::move(name), {day}, card);
  };
  EXPECT_FALSE(planned({file("a", 0, "gregorian"), file("b", 1, "standard")})->find("obs")->error);
  EXPECT_NE(text(planned({file("a", 0, "noleap"), file("b", 1, "standard")})->find("obs")->error)
                .find("a counts in the calendar noleap, b in standard"),
            std::string::npos);
}

}  // namespace

}  // namespace h5mount::join::test
