#include "h5mount/meaning/calendar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "h5mount/base/text.h"

namespace h5mount::meaning {

namespace {

constexpr std::int64_t kMostYears = 1'000'000;
constexpr std::array<unsigned, 13> kBefore = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Days from 0000-03-01 on in years that begin in March, so that leap days are last.
struct MarchDate {
  std::int64_t year;
  unsigned month, day;  // month 0 is March; the first day is 0
};
MarchDate march(const Moment& moment) {
  return {moment.month > 2 ? moment.year : moment.year - 1, (moment.month + 9) % 12, moment.day - 1};
}
std::int64_t day_of_march_year(const MarchDate& date) {
  return (153 * date.month + 2) / 5 + date.day;
}
Moment from_march(std::int64_t year, std::int64_t day_of_year) {
  const auto month = (5 * day_of_year + 2) / 153;
  const auto day = day_of_year - (153 * month + 2) / 5;
  return {month < 10 ? year : year + 1, static_cast<unsigned>(month < 10 ? month + 3 : month - 9),
          static_cast<unsigned>(day + 1)};
}

std::int64_t gregorian_day(const Moment& moment) {
  const MarchDate date = march(moment);
  return 365 * date.year + floor_divide(date.year, 4) - floor_divide(date.year, 100) +
         floor_divide(date.year, 400) + day_of_march_year(date);
}
Moment gregorian_moment(std::int64_t day) {
  constexpr std::int64_t kEra = 146'097;  // days of 400 years
  const std::int64_t era = floor_divide(day, kEra), of_era = day - era * kEra;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  return from_march(era * 400 + year, of_era - (365 * year + year / 4 - year / 100));
}

// The Julian calendar's 0000-03-01 is the Gregorian's 0000-02-28.
constexpr std::int64_t kJulianBefore = 2;
std::int64_t julian_day(const Moment& moment) {
  const MarchDate date = march(moment);
  return 365 * date.year + floor_divide(date.year, 4) + day_of_march_year(date) - kJulianBefore;
}
Moment julian_moment(std::int64_t day) {
  constexpr std::int64_t kEra = 1461;  // days of 4 years
  day += kJulianBefore;
  const std::int64_t era = floor_divide(day, kEra), of_era = day - era * kEra;
  const std::int64_t year = (of_era - of_era / 1460) / 365;
  return from_march(era * 4 + year, of_era - 365 * year);
}

// The first day of the Gregorian calendar, in the standard one.
std::int64_t first_gregorian_day() {
  return gregorian_day({1582, 10, 15, 0});
}

bool is_leap(Calendar calendar, const Moment& moment) {
  const std::int64_t year = moment.year;
  switch (calendar) {
    case Calendar::NoLeap:
      return false;
    case Calendar::AllLeap:
      return true;
    case Calendar::Standard:
      if (year > 1582) break;
      [[fallthrough]];
    case Calendar::Julian:
      return year % 4 == 0;
    default:
      break;
  }
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

std::optional<unsigned> take_number(std::string_view& text, std::size_t most_digits) {
  std::size_t digits = 0;
  while (digits < std::min(text.size(), most_digits) && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = parse_whole<unsigned>(text.substr(0, digits));
  if (number) text.remove_prefix(digits);
  return number;
}
bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// YYYY[-MM[-DD[ HH[:MM[:SS[.F]]]]]][ ZONE], the zone `Z`, `UTC`, or an offset ±HH[:MM].
class EpochText {
 public:
  explicit EpochText(std::string_view text) : text_(text) {}

  std::optional<Moment> parse() {
    const bool negative = take(text_, '-');
    if (!negative) take(text_, '+');
    const auto year = take_number(text_, 6);
    if (!year) return std::nullopt;
    Moment out{negative ? -static_cast<std::int64_t>(*year) : static_cast<std::int64_t>(*year)};
    if (take(text_, '-') && !(take_into(out.month) && (!take(text_, '-') || take_into(out.day))))
      return std::nullopt;
    (void)take(text_, 'T');
    skip_spaces();
    if (!text_.empty() && text_[0] >= '0' && text_[0] <= '9' && !take_time(out)) return std::nullopt;
    skip_spaces();
    if (!take_zone(out) || !text_.empty()) return std::nullopt;
    return out;
  }

 private:
  void skip_spaces() {
    while (take(text_, ' ')) {
    }
  }

  bool take_into(unsigned& number) {
    const auto taken = take_number(text_, 2);
    number = taken.value_or(0);
    return taken.has_value();
  }

  bool take_time(Moment& out) {
    constexpr std::int64_t kSecond = 1'000'000;
    unsigned hour = 0, minute = 0, second = 0;
    if (!take_into(hour)) return false;
    if (take(text_, ':') && !take_into(minute)) return false;
    if (take(text_, ':') && !take_into(second)) return false;
    std::int64_t fraction = 0;
    if (take(text_, '.')) {
      std::int64_t place = kSecond / 10;
      for (; !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; text_.remove_prefix(1), place /= 10)
        fraction += place * (text_[0] - '0');
    }
    if (hour > 23 || minute > 59 || second > 59) return false;
    out.microsecond = ((std::int64_t{hour} * 60 + minute) * 60 + second) * kSecond + fraction;
    return true;
  }

  // The moment is that of UTC then, which may be on another day.
  bool take_zone(Moment& out) {
    if (text_.empty()) return true;
    if (equals_ignoring_case(text_, "Z") || equals_ignoring_case(text_, "UTC")) {
      text_ = {};
      return true;
    }
    const bool east = take(text_, '+');
    if (!east && !take(text_, '-')) return false;
    unsigned hours = 0, minutes = 0;
    if (!take_into(hours)) return false;
    take(text_, ':');
    if (!text_.empty() && !take_into(minutes)) return false;
    if (hours > 23 || minutes > 59) return false;
    const std::int64_t offset = (std::int64_t{hours} * 60 + minutes) * 60'000'000;
    out.microsecond += east ? -offset : offset;
    return true;
  }

  std::string_view text_;
};

std::optional<std::int64_t> unit_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 26> kUnits = {{
      {"microsecond", 1},
      {"microseconds", 1},
      {"microsec", 1},
      {"microsecs", 1},
      {"millisecond", 1'000},
      {"milliseconds", 1'000},
      {"millisec", 1'000},
      {"millisecs", 1'000},
      {"msec", 1'000},
      {"msecs", 1'000},
      {"ms", 1'000},
      {"second", 1'000'000},
      {"seconds", 1'000'000},
      {"sec", 1'000'000},
      {"secs", 1'000'000},
      {"s", 1'000'000},
      {"minute", 60'000'000},
      {"minutes", 60'000'000},
      {"min", 60'000'000},
      {"mins", 60'000'000},
      {"hour", 3'600'000'000},
      {"hours", 3'600'000'000},
      {"hr", 3'600'000'000},
      {"h", 3'600'000'000},
      {"day", kMicrosecondsOfDay},
      {"days", kMicrosecondsOfDay},
  }};
  if (equals_ignoring_case(name, "d")) return kMicrosecondsOfDay;
  if (equals_ignoring_case(name, "hrs")) return 3'600'000'000;
  const auto found =
      std::ranges::find_if(kUnits, [&](const auto& unit) { return equals_ignoring_case(unit.first, name); });
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<Calendar> calendar_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Calendar>, 10> kNames = {{
      {"", Calendar::Standard},
      {"standard", Calendar::Standard},
      {"gregorian", Calendar::Standard},
      {"proleptic_gregorian", Calendar::Proleptic},
      {"julian", Calendar::Julian},
      {"noleap", Calendar::NoLeap},
      {"365_day", Calendar::NoLeap},
      {"all_leap", Calendar::AllLeap},
      {"366_day", Calendar::AllLeap},
      {"360_day", Calendar::Days360},
  }};
  const auto found =
      std::ranges::find_if(kNames, [&](const auto& one) { return equals_ignoring_case(one.first, name); });
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

std::string_view name_of(Calendar calendar) {
  constexpr std::array<std::string_view, 6> kNames = {
      "standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"};
  return kNames[static_cast<std::size_t>(calendar)];
}

bool has_numpy_dates(Calendar calendar) {
  return calendar == Calendar::Standard || calendar == Calendar::Proleptic;
}

std::int64_t day_number(Calendar calendar, const Moment& moment) {
  const bool leap = is_leap(calendar, moment);
  switch (calendar) {
    case Calendar::Standard: {
      const std::int64_t day = gregorian_day(moment);
      return day >= first_gregorian_day() ? day : julian_day(moment);
    }
    case Calendar::Proleptic:
      return gregorian_day(moment);
    case Calendar::Julian:
      return julian_day(moment);
    case Calendar::Days360:
      return 360 * moment.year + 30 * (std::int64_t{moment.month} - 1) + moment.day - 1;
    default:
      break;
  }
  const std::int64_t before = kBefore[moment.month - 1] + (leap && moment.month > 2 ? 1 : 0);
  return (leap ? 366 : 365) * moment.year + before + moment.day - 1;
}

Moment moment_of(Calendar calendar, std::int64_t day, std::int64_t microsecond) {
  Moment out;
  if (calendar == Calendar::Proleptic || (calendar == Calendar::Standard && day >= first_gregorian_day())) {
    out = gregorian_moment(day);
  } else if (calendar == Calendar::Standard || calendar == Calendar::Julian) {
    out = julian_moment(day);
  } else {
    const std::int64_t length = calendar == Calendar::Days360   ? 360
                                : calendar == Calendar::AllLeap ? 366
                                                                : 365;
    out.year = floor_divide(day, length);
    auto of_year = static_cast<unsigned>(day - out.year * length);
    if (calendar == Calendar::Days360) {
      out.month = of_year / 30 + 1, out.day = of_year % 30 + 1;
    } else {
      const unsigned leap = calendar == Calendar::AllLeap ? 1 : 0;
      const auto begin = [&](unsigned month) { return kBefore[month] + (month > 1 ? leap : 0); };
      while (out.month < 12 && of_year >= begin(out.month)) ++out.month;
      out.day = of_year - begin(out.month - 1) + 1;
    }
  }
  out.microsecond = microsecond;
  return out;
}

bool has_day(Calendar calendar, const Moment& moment) {
  if (moment.year < -kMostYears || moment.year > kMostYears) return false;
  if (moment.month < 1 || moment.month > 12 || moment.day < 1) return false;
  if (calendar == Calendar::Days360) return moment.day <= 30;
  const unsigned days = kBefore[moment.month] - kBefore[moment.month - 1] +
                        (moment.month == 2 && is_leap(calendar, moment) ? 1 : 0);
  const bool dropped = calendar == Calendar::Standard && moment.year == 1582 && moment.month == 10 &&
                       moment.day > 4 && moment.day < 15;
  return moment.day <= days && !dropped;
}

std::optional<TimeUnits> parse_time_units(std::string_view units, Calendar calendar) {
  constexpr std::int64_t kSecond = 1'000'000;
  const std::string_view name = take_until(units, ' ');
  while (units.starts_with(' ')) units.remove_prefix(1);
  const std::string_view since = take_until(units, ' ');
  if (!equals_ignoring_case(since, "since")) return std::nullopt;
  while (units.starts_with(' ')) units.remove_prefix(1);
  while (units.ends_with(' ')) units.remove_suffix(1);
  const auto unit = unit_named(name);
  const auto epoch = unit ? EpochText(units).parse() : std::nullopt;
  if (!epoch || !has_day(calendar, *epoch)) return std::nullopt;
  // The Julian and the mixed calendar have no year 0.
  const bool year_zero = calendar != Calendar::Standard && calendar != Calendar::Julian;
  if (!year_zero && epoch->year < 1) return std::nullopt;
  return TimeUnits{calendar, *unit, day_number(calendar, *epoch), epoch->microsecond,
                   *unit % kSecond == 0 && epoch->microsecond % kSecond == 0};
}

std::optional<Moment> moment_at(const TimeUnits& units, std::int64_t microseconds) {
  const std::int64_t days = floor_divide(microseconds, kMicrosecondsOfDay);
  std::int64_t left = microseconds % kMicrosecondsOfDay;
  if (left < 0) left += kMicrosecondsOfDay;
  left += units.epoch_microsecond;
  const std::int64_t more = floor_divide(left, kMicrosecondsOfDay);
  left -= more * kMicrosecondsOfDay;
  const std::int64_t day = units.epoch_day + days + more;
  if (day < -366 * kMostYears || day > 366 * kMostYears) return std::nullopt;
  return moment_of(units.calendar, day, left);
}

std::optional<std::int64_t> numpy_time(const Moment& moment) {
  if (!has_day(Calendar::Proleptic, moment)) return std::nullopt;
  const std::int64_t days = gregorian_day(moment) - gregorian_day({1970, 1, 1, 0});
  std::int64_t out = 0;
  if (__builtin_mul_overflow(days, kMicrosecondsOfDay, &out) ||
      __builtin_add_overflow(out, moment.microsecond, &out))
    return std::nullopt;
  return out;
}

std::string moment_text(const Moment& moment, bool fraction) {
  const std::int64_t seconds = moment.microsecond / 1'000'000;
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", moment.year, moment.month, moment.day,
                                seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction) out += fmt::format(".{:06}", moment.microsecond % 1'000'000);
  return out;
}

}  // namespace h5mount::meaning
