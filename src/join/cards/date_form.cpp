#include "date_form.h"

#include <fmt/format.h>

#include <string>

#include "h5mount/base/text.h"
#include "h5mount/meaning/calendar.h"

namespace h5mount::join {

namespace {

constexpr std::string_view kLetters = "YmdHMSj";

std::size_t digits_of(char letter) {
  if (letter == 'Y') return 4;
  return letter == 'j' ? 3 : 2;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct DateFields {
  meaning::Moment moment;
  unsigned hour = 0, minute = 0, second = 0;
  std::optional<unsigned> day_of_year;

  void set(char letter, unsigned number) {
    if (letter == 'Y') moment.year = number;
    if (letter == 'm') moment.month = number;
    if (letter == 'd') moment.day = number;
    if (letter == 'H') hour = number;
    if (letter == 'M') minute = number;
    if (letter == 'S') second = number;
    if (letter == 'j') day_of_year = number;
  }

  std::optional<std::int64_t> seconds() const {
    constexpr std::int64_t kSecond = 1'000'000, kDay = 86'400;
    if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
    const auto day = meaning::numpy_time(moment);
    if (!day) return std::nullopt;
    std::int64_t out = *day / kSecond;
    if (day_of_year) {
      const meaning::Moment next{moment.year + 1, 1, 1, 0};
      if (*day_of_year < 1 || out + *day_of_year * kDay > meaning::numpy_time(next).value_or(0) / kSecond)
        return std::nullopt;
      out += (std::int64_t{*day_of_year} - 1) * kDay;
    }
    return out + (std::int64_t{hour} * 60 + minute) * 60 + second;
  }
};

// The date at the beginning of the text.
std::optional<FoundDate> date_at(std::string_view form, std::string_view text) {
  DateFields fields;
  std::size_t at = 0;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool is_field = form[i] == '%' && form[++i] != '%';
    if (!is_field) {
      if (at >= text.size() || text[at++] != form[i]) return std::nullopt;
      continue;
    }
    const std::size_t digits = digits_of(form[i]);
    const std::string_view part = text.substr(std::min(at, text.size()), digits);
    const auto number = part.size() == digits ? parse_whole<unsigned>(part) : std::nullopt;
    if (!number) return std::nullopt;
    fields.set(form[i], *number);
    at += digits;
  }
  const auto seconds = fields.seconds();
  if (!seconds) return std::nullopt;
  return FoundDate{text.substr(0, at), *seconds};
}

}  // namespace

Status check_date_form(std::string_view form) {
  const auto refuse = [&](std::string_view why) -> Status {
    return fail({ErrorCode::InvalidValue, fmt::format("join: the date form '{}' {}", form, why)});
  };
  std::string letters;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%') continue;
    if (++i == form.size()) return refuse("ends with %");
    if (form[i] == '%') continue;
    if (!kLetters.contains(form[i]))
      return refuse(fmt::format("has %{}; known are %Y %m %d %H %M %S %j", form.substr(i, 1)));
    if (letters.contains(form[i])) return refuse(fmt::format("has %{} twice", form[i]));
    letters += form[i];
  }
  const auto has = [&](char letter) { return letters.contains(letter); };
  if (!has('Y')) return refuse("has no year (%Y)");
  if (has('d') && !has('m')) return refuse("has a day (%d) without a month (%m)");
  if (has('j') && has('m')) return refuse("has the day of a year (%j) beside a month");
  return {};
}

std::optional<FoundDate> find_date(std::string_view form, std::string_view text) {
  std::optional<FoundDate> beside_digits;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto found = date_at(form, text.substr(at));
    if (!found) continue;
    const std::size_t end = at + found->text.size();
    const bool alone = (at == 0 || !is_digit(text[at - 1]) || !is_digit(text[at])) &&
                       (end == text.size() || !is_digit(text[end]) || !is_digit(text[end - 1]));
    if (alone) return found;
    if (!beside_digits) beside_digits = found;
  }
  return beside_digits;
}

}  // namespace h5mount::join
