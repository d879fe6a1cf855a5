// Rule 5: times that are counted from different moments, and other units.
#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/text.h"
#include "planner.h"

namespace h5mount::join {

namespace {

using meaning::TimeUnits;

bool same_units(const TimeUnits& a, const TimeUnits& b) {
  return a.unit == b.unit && a.epoch_day == b.epoch_day && a.epoch_microsecond == b.epoch_microsecond;
}

Int128 epoch_of(const TimeUnits& units) {
  return Int128{units.epoch_day} * meaning::kMicrosecondsOfDay + units.epoch_microsecond;
}

// Whether whole numbers stay whole.
bool divides(const TimeUnits& from, const TimeUnits& to) {
  return from.unit % to.unit == 0 && (epoch_of(from) - epoch_of(to)) % to.unit == 0;
}

bool is_whole_in(const Number& number, const TimeUnits& from, const TimeUnits& to) {
  return number.is_whole && (Int128{number.whole} * from.unit + epoch_of(from) - epoch_of(to)) % to.unit == 0;
}

std::string quoted_units(std::string_view units) {
  return units.empty() ? std::string("no units") : fmt::format("units of '{}'", units);
}

class TimesOfMember {
 public:
  TimesOfMember(const Planning& plan, const Gathered& in) : plan_(plan), in_(in), first_(in.variants[0]) {}

  Result<TimeRule> rule() {
    TimeRule out;
    const bool alike = std::ranges::all_of(in_.variants, [&](const Variant& one) {
      return one.units == first_.units && one.of().calendar == first_.of().calendar;
    });
    if (alike) return out;
    const auto to = time_units(first_.units, first_.of().calendar);
    for (const Variant& one : in_.variants) {
      const auto from = time_units(one.units, one.of().calendar);
      if (to && from) {
        if (from->calendar != to->calendar) return fail(calendars_differ(one));
        if (!same_units(*from, *to)) {
          out.differs = true;
          if (plan_.options.conflict == Conflict::Refuse) return fail(refused(one));
        }
      } else if (one.units != first_.units && plan_.options.conflict != Conflict::First) {
        return fail(units_differ(one));
      } else if (is_since(one.units) && is_since(first_.units) &&
                 !same_calendars(one.of().calendar, first_.of().calendar)) {
        return fail(calendars_differ(one));
      }
      out.from.push_back(to && from ? *from : to.value_or(TimeUnits()));
    }
    if (to) out.to = *to;
    out.to_integer = out.differs && stays_whole(out);
    return out;
  }

 private:
  Error calendars_differ(const Variant& one) const {
    return cannot_join(fmt::format("{}: {} counts in the calendar {}, {} in {} (match= leaves files out)",
                                   shown_path(in_.path), plan_.name(first_), shown_calendar(first_.of()),
                                   plan_.name(one), shown_calendar(one.of())));
  }
  Error refused(const Variant& one) const {
    return cannot_join(fmt::format("{}: {} has {}, {} has {} (join_conflict=decode rebases times)",
                                   shown_path(in_.path), plan_.name(first_), quoted_units(first_.units),
                                   plan_.name(one), quoted_units(one.units)));
  }
  Error units_differ(const Variant& one) const {
    std::string why;
    if (is_since(first_.units) && is_since(one.units))
      why = ", which are not both of a fixed length and from a day that the calendar has";
    return cannot_join(fmt::format(
        "{}: {} has {}, {} has {}{} (join_conflict=first takes all for those of the first, match= "
        "leaves files out)",
        shown_path(in_.path), plan_.name(first_), quoted_units(first_.units), plan_.name(one),
        quoted_units(one.units), why));
  }

  bool stays_whole(const TimeRule& rule) const {
    std::vector<bool> divide;
    for (const TimeUnits& from : rule.from) divide.push_back(divides(from, rule.to));
    if (std::ranges::find(divide, false) == divide.end()) return true;
    if (!names_axis(plan_.options.axis, in_.path)) return false;
    for (std::size_t i = 0; i < in_.files.size(); ++i) {
      const std::uint32_t variant = in_.variant[i];
      if (!divide[variant] &&
          !values_stay_whole(in_.files[i], in_.variants[variant], rule.from[variant], rule.to))
        return false;
    }
    return true;
  }

  // Of the axis: of few values all are known, of others the first and what divides all distances from it.
  bool values_stay_whole(std::uint32_t file, const Variant& one, const TimeUnits& from,
                         const TimeUnits& to) const {
    if (one.extent == 0) return true;
    const auto whole = [&](const Number& number) { return is_whole_in(number, from, to); };
    if (one.of().numbers.size() == one.extent) return std::ranges::all_of(one.of().numbers, whole);
    const FileCard& card = *plan_.files[file].card;
    return std::ranges::any_of(card.axes, [&](const AxisValues& values) {
      return values.member < card.members.size() && card.members[values.member]->path == in_.path &&
             values.readable && whole(values.first) &&
             (one.extent == 1 ||
              (values.common_step != 0 && Int128{values.common_step} * from.unit % to.unit == 0));
    });
  }

  const Planning& plan_;
  const Gathered& in_;
  const Variant& first_;
};

}  // namespace

Result<TimeRule> time_rule(const Planning& plan, const Gathered& in) {
  return TimesOfMember(plan, in).rule();
}

bool equal_copies(const Variant& a, const Variant& b) {
  const MemberCard& one = a.of();
  const MemberCard& other = b.of();
  const bool packed_alike = equal_packings(one, other);
  const auto& left = packed_alike ? one.values : one.decoded;
  const auto& right = packed_alike ? other.values : other.decoded;
  const auto from = time_units(b.units, other.calendar), to = time_units(a.units, one.calendar);
  if (!from || !to || same_units(*from, *to)) return left && left == right;
  // Times of different epochs are compared one by one, where they are few.
  const auto plain = [](const MemberCard& card) {
    return card.packing && !card.packing->changes_values() && !card.packing->may_miss();
  };
  return from->calendar == to->calendar && plain(one) && plain(other) && !one.numbers.empty() &&
         std::ranges::equal(one.numbers, other.numbers, [&](const Number& x, const Number& y) {
           return instant_of(x, &*to) == instant_of(y, &*from);
         });
}

}  // namespace h5mount::join
