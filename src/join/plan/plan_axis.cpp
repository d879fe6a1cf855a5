// Which dimension of each dataset is the axis, which files have it, and exact moments on it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "../cards/card_members.h"
#include "h5mount/base/text.h"
#include "planner.h"

namespace h5mount::join {

namespace {

using meaning::TimeUnits;

void note_dimension(const Axis& axis, const MemberCard& member, TakenFile& file) {
  const AxisPlace place = axis_of(axis, member);
  if (!place.dimension || place.twice || member.error) return;
  const std::string_view scale =
      axis.kind == Axis::Kind::First ? std::string_view() : member.scales[*place.dimension];
  const std::uint64_t length = member.space.dims[*place.dimension];
  const auto found = std::ranges::lower_bound(file.dimensions, scale, {}, &TakenFile::Dimension::scale);
  if (found == file.dimensions.end() || found->scale != scale) {
    file.dimensions.insert(found, {scale, length, member.without_values});
    return;
  }
  // netCDF's unlimited dimensions have scales of length 0.
  if (member.without_values) return;
  if (std::exchange(found->by_scale_alone, false)) {
    found->length = length;
    return;
  }
  found->agreed = found->agreed && found->length == length;
  // The scale itself says how long the dimension is.
  if (member.path == scale) found->length = length;
}

bool has_coordinate(const FileCard& card, const Axis& axis) {
  return std::ranges::any_of(card.axes, [&](const AxisValues& values) {
    return values.member < card.members.size() && names_axis(axis, card.members[values.member]->path);
  });
}

// The shallowest of the paths of the axis' dimensions.
bool shallower(std::string_view a, std::string_view b) {
  const auto depth = [](std::string_view path) { return std::ranges::count(path, '/'); };
  return depth(a) != depth(b) ? depth(a) < depth(b) : a < b;
}

void set_lengths(Planning& plan) {
  if (plan.options.axis.kind == Axis::Kind::New) {
    for (TakenFile& file : plan.files) file.length = 1;
    return;
  }
  const std::string_view* first = nullptr;
  for (const TakenFile& file : plan.files)
    for (const auto& dimension : file.dimensions)
      if (!first || shallower(dimension.scale, *first)) first = &dimension.scale;
  for (TakenFile& file : plan.files) {
    if (file.dimensions.empty()) continue;
    const TakenFile::Dimension* of = file.dimension(*first);
    if (!of) of = &*std::ranges::min_element(file.dimensions, shallower, &TakenFile::Dimension::scale);
    file.length = of->length;
  }
}

constexpr std::string_view kSince = "since";

}  // namespace

Error cannot_join(std::string text) {
  return Error(ErrorCode::InvalidValue, std::move(text));
}

std::string shown_path(std::string_view path) {
  return fmt::format("/{}", path);
}

void Planning::leave_out(const FileCardPtr& card, std::string why) {
  left_out.push_back({card, cannot_join(std::move(why))});
}

const TakenFile::Dimension* TakenFile::dimension(std::string_view scale) const {
  const auto found = std::ranges::lower_bound(dimensions, scale, {}, &Dimension::scale);
  return found != dimensions.end() && found->scale == scale ? &*found : nullptr;
}

bool names_axis(const Axis& axis, std::string_view scale) {
  if (axis.kind != Axis::Kind::Existing || scale.empty()) return false;
  std::string_view name = axis.name;
  if (!name.contains('/')) return last_component(scale) == name;
  if (name.starts_with('/')) name.remove_prefix(1);
  return scale == name;
}

AxisPlace axis_of(const Axis& axis, const MemberCard& member) {
  AxisPlace out;
  if (member.kind != MemberCard::Kind::Dataset) return out;
  if (axis.kind == Axis::Kind::First && axis.dimension < member.space.rank()) out.dimension = axis.dimension;
  const std::size_t known = std::min(member.scales.size(), member.space.rank());
  for (std::uint32_t i = 0; i < known; ++i) {
    if (!names_axis(axis, member.scales[i])) continue;
    out.twice = out.twice || out.dimension;
    if (!out.dimension) out.dimension = i;
  }
  return out;
}

void take_files(std::vector<FileCardPtr> cards, Planning& plan) {
  const Axis& axis = plan.options.axis;
  const bool existing = axis.kind == Axis::Kind::Existing || axis.kind == Axis::Kind::First;
  // Without a coordinate a file that is missing would shift all that come behind it.
  const bool shifts = existing && std::ranges::none_of(cards, [&](const FileCardPtr& card) {
                        return has_coordinate(*card, axis);
                      });
  for (FileCardPtr& card : cards) {
    if (card->error) {
      if (shifts && !plan.error)
        plan.error = cannot_join(fmt::format(
            "{} cannot be had ({}), and as the axis has no coordinate, all behind it would be at wrong "
            "places: nothing is joined (match= leaves files out)",
            card->path, card->error->text()));
      plan.left_out.push_back({card, *card->error});
      continue;
    }
    if (axis.source != Axis::Source::None && !card->label) {
      plan.leave_out(card, axis.source == Axis::Source::Attribute
                               ? fmt::format("it has no value of {}", axis.text)
                               : fmt::format("its name does not match '{}'", axis.text));
      continue;
    }
    if (card->axes.size() > kMostCoordinates) {
      plan.leave_out(card, fmt::format("it has more than {} coordinates along the axis", kMostCoordinates));
      continue;
    }
    TakenFile file = {.card = card, .dimensions = {}};
    if (existing) {
      for (const MemberCardPtr& member : card->members) note_dimension(axis, *member, file);
      if (file.dimensions.empty()) {
        plan.leave_out(card, axis.kind == Axis::Kind::First
                                 ? fmt::format("no dataset of it has a dimension {}", axis.dimension)
                                 : fmt::format("no variable of it has the dimension {}", axis.name));
        continue;
      }
    }
    plan.files.push_back(std::move(file));
  }
  set_lengths(plan);
}

bool is_since(std::string_view units) {
  const std::string lower = to_lower(units);
  return lower.contains(" since ");
}

bool same_calendars(std::string_view a, std::string_view b) {
  const auto one = meaning::calendar_named(a), other = meaning::calendar_named(b);
  return one && other ? *one == *other : a == b;
}

std::string_view shown_calendar(const MemberCard& card) {
  return card.calendar.empty() ? std::string_view("standard") : card.calendar;
}

std::optional<TimeUnits> time_units(std::string_view units, std::string_view calendar) {
  const auto named = meaning::calendar_named(calendar);
  return named ? meaning::parse_time_units(units, *named) : std::nullopt;
}

std::string counted_units(const Planning& plan, const TakenFile& file, const MemberCard& member) {
  const Axis& axis = plan.options.axis;
  if (axis.kind != Axis::Kind::Existing || axis.source != Axis::Source::Date || !file.card->label)
    return member.units;
  // Times are the coordinate, its bounds, and what counts from the same moment as the coordinate.
  const bool on_axis = axis_of(axis, member).dimension.has_value();
  bool counts = on_axis && names_axis(axis, member.path);
  for (const AxisValues& values : file.card->axes) {
    if (values.member >= file.card->members.size()) continue;
    const MemberCard& coordinate = *file.card->members[values.member];
    counts = counts ||
             (on_axis && member.units == coordinate.units && (member.bounds_time || is_since(member.units)));
  }
  if (!counts || member.units.empty()) return member.units;
  constexpr std::int64_t kDay = 86'400, kMicroseconds = 1'000'000;
  constexpr std::int64_t kMostSeconds = std::int64_t{1} << 50;  // of years that calendars have
  const std::int64_t seconds = std::clamp(file.card->label->number.whole, -kMostSeconds, kMostSeconds);
  const std::int64_t of_day = ((seconds % kDay) + kDay) % kDay;
  const std::int64_t first = meaning::day_number(meaning::Calendar::Proleptic, {1970, 1, 1, 0});
  std::string moment =
      meaning::moment_text(meaning::moment_of(meaning::Calendar::Proleptic, first + (seconds - of_day) / kDay,
                                              of_day * kMicroseconds),
                           false);
  std::ranges::replace(moment, 'T', ' ');
  std::string_view rest = member.units;
  return fmt::format("{} {} {}", take_until(rest, ' '), kSince, moment);
}

std::strong_ordering Instant::operator<=>(const Instant& other) const {
  if (whole != other.whole) return whole <=> other.whole;
  if (beyond != other.beyond)
    return beyond < other.beyond ? std::strong_ordering::less : std::strong_ordering::greater;
  return fraction <=> other.fraction;
}

Instant instant_of(const Number& number, const TimeUnits* units) {
  const std::int64_t unit = units ? units->unit : 1;
  const Int128 epoch =
      units ? Int128{units->epoch_day} * meaning::kMicrosecondsOfDay + units->epoch_microsecond : 0;
  Instant out;
  if (number.is_whole) {
    out.whole = Int128{number.whole} * unit + epoch;
    return out;
  }
  constexpr int kMantissa = 53;
  constexpr double kBeyond = 0x1p125;
  const double scaled = number.real * static_cast<double>(unit);
  if (!(std::abs(scaled) < kBeyond)) {  // moments of no calendar, and numbers of no epoch
    constexpr Int128 kLargest = Int128{1} << 126;
    out.whole = scaled < 0 ? -kLargest : kLargest;
    out.beyond = scaled;
    return out;
  }
  int exponent = 0;
  const double mantissa = std::frexp(number.real, &exponent);
  const Int128 product = Int128{static_cast<std::int64_t>(std::ldexp(mantissa, kMantissa))} * unit;
  exponent -= kMantissa;
  if (exponent >= 0) {
    out.whole = product * (Int128{1} << exponent) + epoch;
    return out;
  }
  const int below = std::min(-exponent, 255);  // binary places behind the point
  const Int128 sign = product < 0 ? -1 : 0;
  out.whole = (below < 128 ? product >> below : sign) + epoch;
  out.fraction = below < 128 ? static_cast<UInt128>(product) << (128 - below)
                             : static_cast<UInt128>(product >> (below - 128));
  return out;
}

}  // namespace h5mount::join
