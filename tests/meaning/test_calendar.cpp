// CF's calendars: every day of some centuries, and what units are times.
#include <gtest/gtest.h>

#include "h5mount/meaning/calendar.h"

namespace h5mount::test {
namespace {

using meaning::Calendar;
using meaning::Moment;

constexpr std::array kCalendars = {Calendar::Standard, Calendar::Proleptic, Calendar::Julian,
                                   Calendar::NoLeap,   Calendar::AllLeap,   Calendar::Days360};

TEST(Calendar, EveryDayFollowsTheOneBefore) {
  for (const Calendar calendar : kCalendars) {
    const std::int64_t first = meaning::day_number(calendar, {-5, 1, 1, 0});
    Moment before = meaning::moment_of(calendar, first - 1, 0);
    for (std::int64_t day = first; day < first + 2100 * 366; ++day) {
      const Moment moment = meaning::moment_of(calendar, day, 7);
      const bool next_day = moment.month == before.month && moment.day == before.day + 1;
      const bool next_month = moment.day == 1 && moment.month == before.month % 12 + 1;
      const bool reform = calendar == Calendar::Standard && moment.year == 1582 && moment.day == 15;
      const bool follows = next_day || next_month || reform;
      if (!follows || meaning::day_number(calendar, moment) != day || !meaning::has_day(calendar, moment))
        FAIL() << meaning::name_of(calendar) << ' ' << meaning::moment_text(moment, true);
      before = moment;
    }
  }
}

TEST(Calendar, DaysThatAreKnown) {
  const std::int64_t epoch = meaning::day_number(Calendar::Standard, {1970, 1, 1, 0});
  EXPECT_EQ(meaning::day_number(Calendar::Standard, {2000, 3, 1, 0}) - epoch, 11'017);
  EXPECT_EQ(meaning::day_number(Calendar::Standard, {1582, 10, 15, 0}) -
                meaning::day_number(Calendar::Standard, {1582, 10, 4, 0}),
            1);
  // The Julian calendar is 13 days behind.
  EXPECT_EQ(meaning::day_number(Calendar::Julian, {1969, 12, 19, 0}), epoch);
  EXPECT_EQ(meaning::numpy_time({1970, 1, 2, 3}), 86'400'000'003);
  EXPECT_EQ(meaning::numpy_time({1900, 2, 29, 0}), std::nullopt);
  EXPECT_EQ(meaning::numpy_time({900'000, 1, 1, 0}), std::nullopt);
}

TEST(TimeUnits, OfEveryForm) {
  const auto micros = [](std::string_view units) {
    const auto parsed = meaning::parse_time_units(units, Calendar::Standard);
    if (!parsed) return std::int64_t{-1};
    const std::int64_t epoch = meaning::day_number(Calendar::Standard, {2000, 1, 1, 0});
    return (parsed->epoch_day - epoch) * meaning::kMicrosecondsOfDay + parsed->epoch_microsecond;
  };
  EXPECT_EQ(micros("days since 2000-01-01"), 0);
  EXPECT_EQ(micros("days  since 2000-1-1 "), 0);
  EXPECT_EQ(micros("d since 2000"), 0);
  EXPECT_EQ(micros("HOURS SINCE 2000-01-01T01:02:03.5Z"), 3'723'500'000);
  EXPECT_EQ(micros("s since 2000-01-01 01:00 -02:30"), 3'600'000'000 + 9'000'000'000);
  EXPECT_EQ(micros("s since 2000-01-01 12 +05"), 7 * 3'600'000'000);
  EXPECT_EQ(micros("ms since 2000-01-01 00:00:00.000001 UTC"), 1);
  for (const char* other :
       {"", "days", "since 2000-01-01", "days since", "months since 2000-01-01", "days since 2001-02-29",
        "days since 0-1-1", "days since 2000-01-01 25:00", "days since 2000-01-01x", "days since 2000-13-01",
        "days since 1582-10-10", "days since 99999999-01-01", "days since 2000-01-01 00:00:00 +99"})
    EXPECT_EQ(micros(other), -1) << other;
}

TEST(TimeUnits, MomentsAtTheirEnds) {
  const auto units = meaning::parse_time_units("days since 2000-01-01", Calendar::Proleptic);
  ASSERT_TRUE(units);
  EXPECT_EQ(meaning::moment_text(*meaning::moment_at(*units, -1), true), "1999-12-31T23:59:59.999999");
  EXPECT_TRUE(meaning::moment_at(*units, INT64_MAX));
  EXPECT_TRUE(meaning::moment_at(*units, INT64_MIN));
}

}  // namespace
}  // namespace h5mount::test
