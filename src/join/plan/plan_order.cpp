// Rule 7: the order of files along the axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "planner.h"

namespace h5mount::join {

namespace {

using meaning::TimeUnits;

// Where a file is on the axis.
struct Run {
  std::uint32_t file = 0;
  const AxisValues* values = nullptr;
  Instant first, last;
  std::optional<TimeUnits> units;
};

const AxisValues* coordinate_at(const FileCard& card, std::string_view path) {
  for (const AxisValues& values : card.axes)
    if (values.member < card.members.size() && card.members[values.member]->path == path) return &values;
  return nullptr;
}

// The order of a coordinate's values.
class CoordinateOrder {
 public:
  CoordinateOrder(Planning& plan, std::string_view path) : plan_(plan), path_(path) {}

  // Finds where files with records are.
  Status find_runs() {
    std::optional<std::uint32_t> without, with;
    for (std::uint32_t i = 0; i < plan_.files.size(); ++i) {
      const TakenFile& file = plan_.files[i];
      const AxisValues* const values = coordinate_at(*file.card, path_);
      const TakenFile::Dimension* const dimension = file.dimension(path_);
      if ((dimension ? dimension->length : file.length) == 0) continue;
      if (!values) {
        without = without.value_or(i);
        continue;
      }
      with = with.value_or(i);
      if (values->readable)
        runs_.push_back({i, values, {}, {}, {}});
      else
        unreadable_.push_back(i);
    }
    if (without && with && is_main())
      return refuse("{} has the coordinate {}, {} has none", name(*with), shown_path(path_), name(*without));
    if (runs_.empty() && !unreadable_.empty())
      return refuse("the values of {} in {} cannot be read as numbers", shown_path(path_),
                    name(unreadable_[0]));
    return set_places();
  }

  // Ascending or descending, as the values in the files are.
  Status find_direction() {
    const Run* up = nullptr;
    const Run* down = nullptr;
    for (const Run& run : runs_) {
      if (run.values->has_missing)
        return refuse("a value of {} in {} is missing", shown_path(path_), name(run.file));
      if (!run.values->ascending && !run.values->descending)
        return refuse("{} in {} neither ascends nor descends throughout", shown_path(path_), name(run.file));
      if (run.values->ascending != run.values->descending) (run.values->ascending ? up : down) = &run;
    }
    if (up && down)
      return refuse("{} ascends in {} and descends in {}", shown_path(path_), name(up->file),
                    name(down->file));
    descending_ = down != nullptr;
    return {};
  }

  void sort() {
    std::ranges::stable_sort(runs_, [&](const Run& a, const Run& b) {
      const auto order = descending_ ? b.first <=> a.first : a.first <=> b.first;
      return order != 0 ? order < 0 : natural_less(name(a.file), name(b.file));
    });
  }

  // Whether the runs follow one another in the order that they have now.
  Status check() const {
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      const Run& before = runs_[i - 1];
      const Run& run = runs_[i];
      const auto order = descending_ ? before.last <=> run.first : run.first <=> before.last;
      if (order > 0) continue;
      return refuse("{} has {} in [{}, {}], {} in [{}, {}]: {}", name(before.file), shown_path(path_),
                    text(before, false), text(before, true), name(run.file), text(run, false),
                    text(run, true), order == 0 ? "a value is repeated" : "they overlap");
    }
    return {};
  }

  // Leaves out the files whose coordinate cannot be read, and sorts the others as the runs are; those without
  // records are last, by name.
  void apply() {
    std::vector<TakenFile> sorted, empty;
    std::vector<bool> placed(plan_.files.size());
    for (const Run& run : runs_) {
      placed[run.file] = true;
      sorted.push_back(std::move(plan_.files[run.file]));
    }
    for (const std::uint32_t i : unreadable_) {
      placed[i] = true;
      plan_.leave_out(plan_.files[i].card,
                      fmt::format("the values of {} cannot be read as numbers", shown_path(path_)));
    }
    for (std::size_t i = 0; i < placed.size(); ++i)
      if (!placed[i]) empty.push_back(std::move(plan_.files[i]));
    std::ranges::stable_sort(empty, natural_less, &TakenFile::name);
    std::ranges::move(empty, std::back_inserter(sorted));
    plan_.files = std::move(sorted);
  }

 private:
  bool is_main() const { return path_ == plan_.coordinate; }
  std::string_view name(std::uint32_t file) const { return plan_.files[file].name(); }
  const MemberCard& card(const Run& run) const {
    return *plan_.files[run.file].card->members[run.values->member];
  }

  template <class... Args>
  std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(cannot_join(fmt::format(format, std::forward<Args>(args)...) +
                            " (join_order=name joins them anyway, match= leaves files out)"));
  }

  // Times on one scale; other numbers as they are.
  Status set_places() {
    std::string text, calendar;
    std::optional<TimeUnits> units;
    const Run* first = nullptr;  // of all
    const Run* timed = nullptr;  // the first of times
    bool alike = true;           // false: what units differ is all taken for the same (join_conflict=first)
    for (Run& run : runs_) {
      std::string counted = units_of(run);
      if (!first || counted != text || card(run).calendar != calendar) {
        text = std::move(counted), calendar = card(run).calendar;
        units = time_units(text, calendar);
      }
      run.units = units;
      if (!first) first = &run;
      const bool since = is_since(text);
      if (!timed && since) timed = &run;
      if (since && !same_calendars(card(*timed).calendar, calendar))
        return refuse("{} has {} in the calendar {}, {} in {}", name(timed->file), shown_path(path_),
                      shown_calendar(card(*timed)), name(run.file), shown_calendar(card(run)));
      if ((first->units && run.units) || text == units_of(*first)) continue;
      alike = false;
      if (plan_.options.conflict != Conflict::First)
        return refuse("{} has {} in units of '{}', {} in '{}', which cannot be compared", name(first->file),
                      shown_path(path_), units_of(*first), name(run.file), text);
    }
    for (Run& run : runs_) {
      if (!alike) run.units.reset();
      run.first = place(run, run.values->first, run.values->decoded_first);
      run.last = place(run, run.values->last, run.values->decoded_last);
    }
    return {};
  }

  std::string units_of(const Run& run) const {
    return counted_units(plan_, plan_.files[run.file], card(run));
  }

  Instant place(const Run& run, Number stored, double decoded) const {
    const auto& packing = card(run).packing;
    if (packing && packing->scaled()) stored = {false, 0, decoded};
    // Numbers of 64 bits without a sign stand in those with one.
    const bool large =
        packing && packing->read_as == meaning::NumberKind::U64 && stored.is_whole && stored.whole < 0;
    if (packing && packing->read_as != packing->stored.kind && !large) stored = {false, 0, decoded};
    Instant out = instant_of(stored, run.units ? &*run.units : nullptr);
    if (large) out.whole += (Int128{1} << 64) * (run.units ? run.units->unit : 1);
    return out;
  }

  std::string text(const Run& run, bool last) const {
    const Instant& at = last ? run.last : run.first;
    if (run.units) {
      const TimeUnits whole{run.units->calendar};
      constexpr Int128 kMost = Int128{1} << 62;
      if (at.whole < kMost && at.whole > -kMost)
        if (const auto moment = meaning::moment_at(whole, static_cast<std::int64_t>(at.whole)))
          return meaning::moment_text(*moment, at.whole % 1'000'000 != 0);
    }
    const Number& number = last ? run.values->last : run.values->first;
    return number.is_whole ? fmt::format("{}", number.whole) : fmt::format("{}", number.real);
  }

  Planning& plan_;
  const std::string path_;
  std::vector<Run> runs_;
  std::vector<std::uint32_t> unreadable_;
  bool descending_ = false;
};

// The paths of the coordinates along the axis, the shallowest first.
std::vector<std::string> coordinate_paths(const Planning& plan) {
  std::vector<std::string> out;
  const MemberCard* last = nullptr;
  for (const TakenFile& file : plan.files)
    for (const AxisValues& values : file.card->axes) {
      if (values.member >= file.card->members.size()) continue;
      const MemberCard& card = *file.card->members[values.member];
      if (&card == last || !names_axis(plan.options.axis, card.path)) continue;
      last = &card;
      if (out.size() <= kMostCoordinates && std::ranges::find(out, card.path) == out.end())
        out.push_back(card.path);
    }
  std::ranges::sort(out, [](const std::string& a, const std::string& b) {
    const auto depth = [](const std::string& path) { return std::ranges::count(path, '/'); };
    return depth(a) != depth(b) ? depth(a) < depth(b) : a < b;
  });
  return out;
}

Status order_by_coordinate(Planning& plan, const std::vector<std::string>& paths) {
  CoordinateOrder main(plan, paths[0]);
  H5_TRY(main.find_runs());
  H5_TRY(main.find_direction());
  main.sort();
  H5_TRY(main.check());
  main.apply();
  for (std::size_t i = 1; i < paths.size(); ++i) {  // they must run alike
    CoordinateOrder other(plan, paths[i]);
    H5_TRY(other.find_runs());
    H5_TRY(other.find_direction());
    H5_TRY(other.check());
  }
  return {};
}

void empty_last(Planning& plan) {
  const auto empty =
      std::ranges::stable_partition(plan.files, [](const TakenFile& file) { return file.length != 0; });
  std::ranges::stable_sort(empty, natural_less, &TakenFile::name);
}

// A file that may grow would shift all that come behind it.
void settle_growing(Planning& plan) {
  const auto grows = [](const TakenFile& file) { return file.card->may_grow; };
  const auto holds = [](const TakenFile& file) { return file.length != 0; };
  const auto end = std::ranges::find_if(plan.files.rbegin(), plan.files.rend(), holds);
  // The one that may stay: the last that has records, else the last of all.
  const FileCard* stays = nullptr;
  if (end != plan.files.rend()) stays = grows(*end) ? end->card.get() : nullptr;
  if (!stays)
    for (const TakenFile& file : plan.files)
      if (!holds(file) && grows(file)) stays = file.card.get();
  std::vector<TakenFile> kept;
  std::optional<TakenFile> last;
  for (TakenFile& file : plan.files) {
    if (file.card.get() == stays)
      last = std::move(file);
    else if (grows(file))
      plan.leave_out(file.card,
                     "a writer still has it open, and it is not the last on the axis: what it adds would "
                     "shift all behind it");
    else
      kept.push_back(std::move(file));
  }
  if (last) kept.push_back(*std::move(last));
  plan.files = std::move(kept);
}

}  // namespace

Status order_files(Planning& plan) {
  constexpr std::uint64_t kStepsPerPlace = 200;
  const Options& options = plan.options;
  const bool existing = options.axis.kind == Axis::Kind::Existing || options.axis.kind == Axis::Kind::First;
  const auto paths = coordinate_paths(plan);
  if (!paths.empty()) plan.coordinate = paths[0];
  H5_TRY(plan.budget.spend(kStepsPerPlace * plan.files.size() * (paths.size() + 1)));
  if (paths.size() > kMostCoordinates && !plan.error)
    plan.error = Error(ErrorCode::LimitExceeded,
                       fmt::format("there are more than {} coordinates along the axis, in different groups",
                                   kMostCoordinates));
  if (plan.error) return {};
  if (options.order == Order::Name || (options.order == Order::Coordinate && paths.empty() &&
                                       !options.listed && options.axis.kind != Axis::Kind::New))
    std::ranges::stable_sort(plan.files, natural_less, &TakenFile::name);
  if (existing && options.order == Order::Coordinate && paths.empty() && options.order_stated && !plan.error)
    plan.error =
        cannot_join("the axis has no coordinate to order files by (join_order=name orders them by name)");
  if (options.axis.kind == Axis::Kind::New) order_by_labels(plan);
  if (!existing) return {};
  if (options.order == Order::Coordinate && !paths.empty()) {
    if (const Status ordered = order_by_coordinate(plan, paths); !ordered && !plan.error)
      plan.error = ordered.error();
  } else {
    empty_last(plan);
  }
  settle_growing(plan);
  return {};
}

}  // namespace h5mount::join
