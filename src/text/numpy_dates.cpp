#include "numpy_dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace h5mount::text {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t per_second;  // how many are a second; 0: more than a second
  std::int64_t seconds;     // of one, or 0
};
constexpr Unit kUnits[] = {
    {"[D]", 0, 86'400},     {"[h]", 0, 3'600},         {"[m]", 0, 60}, {"[s]", 1, 1}, {"[ms]", 1'000, 0},
    {"[us]", 1'000'000, 0}, {"[ns]", 1'000'000'000, 0}};

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

}  // namespace

bool append_numpy_date(const format::Datatype& type, ByteSpan element, std::string& out) {
  constexpr std::string_view kLittle = "NUMPY:<M8", kBig = "NUMPY:>M8";
  const std::string_view tag = type.tag;
  const bool big = tag.starts_with(kBig);
  if ((!big && !tag.starts_with(kLittle)) || element.size() != sizeof(std::int64_t)) return false;
  const auto* const unit = std::ranges::find(kUnits, tag.substr(kLittle.size()), &Unit::name);
  if (unit == std::end(kUnits)) return false;
  auto bits = load_le<std::uint64_t>(element.data());
  if (big) bits = __builtin_bswap64(bits);
  const auto value = static_cast<std::int64_t>(bits);
  if (value == std::numeric_limits<std::int64_t>::min()) {
    out += "null";
    return true;
  }
  std::int64_t seconds = 0;
  if (unit->per_second > 0)
    seconds = floor_div(value, unit->per_second);
  else if (__builtin_mul_overflow(value, unit->seconds, &seconds))
    return false;
  constexpr std::int64_t kDay = 86'400,
                         kMostDays = 11'000'000;  // the calendar's years have 15 bits and a sign
  const std::int64_t days = floor_div(seconds, kDay);
  if (days < -kMostDays || days > kMostDays) return false;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  const std::int64_t of_day = seconds - days * kDay;
  out += fmt::format("\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), of_day / 3600,
                     of_day / 60 % 60, of_day % 60);
  constexpr std::int64_t kNanosecond = 1'000'000'000;
  const std::int64_t rest =
      unit->per_second > 1 ? (value - seconds * unit->per_second) * (kNanosecond / unit->per_second) : 0;
  if (rest != 0) out += rest % 1000 == 0 ? fmt::format(".{:06}", rest / 1000) : fmt::format(".{:09}", rest);
  out += '"';
  return true;
}

}  // namespace h5mount::text
