#include "fields.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace h5mount::serve {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

// Takes the parts of a date from the front of a text; `ok` becomes false if a part is missing.
class DateText {
 public:
  explicit DateText(std::string_view text) : text_(text) {}
  bool ok() const { return ok_; }
  bool finished() const { return ok_ && text_.empty(); }

  void skip(std::string_view expected) {
    ok_ = ok_ && text_.starts_with(expected);
    if (ok_) text_.remove_prefix(expected.size());
  }
  int number(std::size_t digits) {
    int value = 0;
    ok_ = ok_ && text_.size() >= digits;
    for (std::size_t i = 0; ok_ && i < digits; ++i) {
      ok_ = text_[i] >= '0' && text_[i] <= '9';
      value = value * 10 + (text_[i] - '0');
    }
    if (ok_) text_.remove_prefix(digits);
    return value;
  }
  int month() {
    const auto found = std::ranges::find(kMonths, text_.substr(0, 3));
    ok_ = ok_ && found != kMonths.end();
    if (ok_) text_.remove_prefix(3);
    return static_cast<int>(found - kMonths.begin());
  }
  // The day of the month in asctime's form: two digits, or a space and one.
  int padded_day() {
    if (!text_.starts_with(' ')) return number(2);
    text_.remove_prefix(1);
    return number(1);
  }
  void clock(std::tm& out) {
    out.tm_hour = number(2), skip(":");
    out.tm_min = number(2), skip(":");
    out.tm_sec = number(2);
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

std::optional<std::time_t> checked_time(std::tm& time, bool finished) {
  if (!finished || time.tm_mday < 1 || time.tm_mday > 31 || time.tm_hour > 23 || time.tm_min > 59 ||
      time.tm_sec > 60)
    return std::nullopt;
  return ::timegm(&time);
}

// A year of two digits that would be over 50 years ahead is of the last century.
int whole_year(int two_digits) {
  const std::time_t now = std::time(nullptr);
  std::tm today = {};
  ::gmtime_r(&now, &today);
  const int year = (today.tm_year + 1900) / 100 * 100 + two_digits;
  return year > today.tm_year + 1900 + 50 ? year - 100 : year;
}

std::optional<std::time_t> parse_asctime(std::string_view text) {
  DateText date(text);
  std::tm out = {};
  out.tm_mon = date.month(), date.skip(" ");
  out.tm_mday = date.padded_day(), date.skip(" ");
  date.clock(out), date.skip(" ");
  out.tm_year = date.number(4) - 1900;
  return checked_time(out, date.finished());
}

std::optional<std::time_t> parse_comma_form(std::string_view text) {
  const bool dashes = text.size() > 2 && text[2] == '-';  // RFC 850
  const std::string_view separator = dashes ? "-" : " ";
  DateText date(text);
  std::tm out = {};
  out.tm_mday = date.number(2), date.skip(separator);
  out.tm_mon = date.month(), date.skip(separator);
  const int year = date.number(dashes ? 2 : 4);
  out.tm_year = (dashes ? whole_year(year) : year) - 1900;
  date.skip(" "), date.clock(out), date.skip(" GMT");
  return checked_time(out, date.finished());
}

// The weight after `;q=` in thousandths; 1,000 if there is none, 0 if it is invalid.
unsigned weight_of(std::string_view parameters) {
  while (!parameters.empty()) {
    parameters.remove_prefix(1);  // `;`
    const std::size_t end = std::min(parameters.find(';'), parameters.size());
    const std::string_view parameter = trimmed(parameters.substr(0, end));
    parameters.remove_prefix(end);
    if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) continue;
    double value = 0;
    const std::string_view number = parameter.substr(2);
    const auto [last, trouble] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool valid = trouble == std::errc{} && last == number.data() + number.size() && value >= 0;
    return valid ? static_cast<unsigned>(std::min(value, 1.0) * 1000) : 0;
  }
  return 1000;
}

struct Weighed {
  std::string_view name;
  unsigned weight;
};
Weighed weighed(std::string_view item) {
  const std::size_t end = std::min(item.find(';'), item.size());
  return {trimmed(item.substr(0, end)), weight_of(item.substr(end))};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

void for_each_item(std::string_view list, const std::function<void(std::string_view)>& take) {
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '"') quoted = !quoted;
    if (i < list.size() && (quoted || list[i] != ',')) continue;
    if (const std::string_view item = trimmed(list.substr(begin, i - begin)); !item.empty()) take(item);
    begin = i + 1;
  }
}

std::string format_date(std::time_t time) {
  std::tm parts = {};
  ::gmtime_r(&time, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

std::optional<std::time_t> parse_date(std::string_view text) {
  text = trimmed(text);
  // The name of the day is not compared with the date.
  if (const std::size_t comma = text.find(", "); comma != std::string_view::npos)
    return parse_comma_form(text.substr(comma + 2));
  const bool day =
      text.size() > 4 && text[3] == ' ' && std::ranges::find(kDays, text.substr(0, 3)) != kDays.end();
  return day ? parse_asctime(text.substr(4)) : std::nullopt;
}

unsigned accept_weight(std::optional<std::string_view> accept, std::string_view type) {
  if (!accept) return 1000;
  const std::string whole_group = fmt::format("{}/*", type.substr(0, type.find('/')));
  int best = -1;
  unsigned out = 0;
  for_each_item(*accept, [&](std::string_view item) {
    const auto [name, weight] = weighed(item);
    const int precision = equals_ignoring_case(name, type)          ? 2
                          : equals_ignoring_case(name, whole_group) ? 1
                          : name == "*/*"                           ? 0
                                                                    : -1;
    if (precision <= best) return;
    best = precision;
    out = weight;
  });
  return out;
}

bool names_type(std::optional<std::string_view> accept, std::string_view type) {
  bool found = false;
  if (!accept) return false;
  for_each_item(*accept, [&](std::string_view item) {
    const auto [name, weight] = weighed(item);
    found = found || (weight > 0 && equals_ignoring_case(name, type));
  });
  return found;
}

bool accepts_gzip(std::optional<std::string_view> accept_encoding) {
  if (!accept_encoding) return false;
  std::optional<unsigned> named, any;
  for_each_item(*accept_encoding, [&](std::string_view item) {
    const auto [name, weight] = weighed(item);
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) named = weight;
    if (name == "*") any = weight;
  });
  return named.value_or(any.value_or(0)) > 0;
}

}  // namespace h5mount::serve
