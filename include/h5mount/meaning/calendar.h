// The calendars of CF ("Calendar"), and times that are counted from a moment in one of them. Pure; threads:
// any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace h5mount::meaning {

enum class Calendar : std::uint8_t { Standard, Proleptic, Julian, NoLeap, AllLeap, Days360 };

// By the names of CF, in any case; empty: the standard one. nullopt: another name.
std::optional<Calendar> calendar_named(std::string_view name);
// As cftime calls it.
std::string_view name_of(Calendar calendar);
// Whether NumPy's dates are its dates, but for those before 1582-10-15.
bool has_numpy_dates(Calendar calendar);

struct Moment {
  std::int64_t year = 0;  // before year 1: 0 and less
  unsigned month = 1, day = 1;
  std::int64_t microsecond = 0;  // of the day
};

// Days, counted from any day of the calendar on, but always from the same one. Years are within a million.
std::int64_t day_number(Calendar calendar, const Moment& moment);
Moment moment_of(Calendar calendar, std::int64_t day, std::int64_t microsecond);
// Whether the calendar has that day, and the year is within a million.
bool has_day(Calendar calendar, const Moment& moment);

inline constexpr std::int64_t kMicrosecondsOfDay = 86'400'000'000;

// UNIT since EPOCH.
struct TimeUnits {
  Calendar calendar = Calendar::Standard;
  std::int64_t unit = 1;       // microseconds
  std::int64_t epoch_day = 0;  // day_number
  std::int64_t epoch_microsecond = 0;
  bool whole_seconds = false;  // unit and epoch are whole seconds
};
// nullopt: no such units, or of months or years, or an epoch that the calendar does not have.
std::optional<TimeUnits> parse_time_units(std::string_view units, Calendar calendar);

// A moment in `units`, from the microseconds since the epoch; nullopt: not within a million years.
std::optional<Moment> moment_at(const TimeUnits& units, std::int64_t microseconds);
// Microseconds from 1970-01-01 to the moment of that name in the proleptic Gregorian calendar; nullopt: more
// than 64 bits hold, or that calendar does not have the day.
std::optional<std::int64_t> numpy_time(const Moment& moment);
// YYYY-MM-DDTHH:MM:SS, with six decimals if `fraction`; the year before 1 is -1.
std::string moment_text(const Moment& moment, bool fraction);
// The longest such text, with some room for years.
constexpr std::size_t moment_bytes(bool fraction) {
  return fraction ? 30 : 23;
}

}  // namespace h5mount::meaning
