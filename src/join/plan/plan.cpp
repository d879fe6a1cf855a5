#include "h5mount/join/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/checked.h"
#include "planner.h"

namespace h5mount::join {

namespace {

bool same_packing(const std::optional<meaning::Packing>& a, const std::optional<meaning::Packing>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->stored.kind == b->stored.kind && a->stored.big_endian == b->stored.big_endian &&
         a->read_as == b->read_as && a->scale == b->scale && a->offset == b->offset && a->shown == b->shown &&
         a->fills == b->fills && a->least == b->least && a->most == b->most;
}

bool same_times(const meaning::TimeUnits& a, const meaning::TimeUnits& b) {
  return a.calendar == b.calendar && a.unit == b.unit && a.epoch_day == b.epoch_day &&
         a.epoch_microsecond == b.epoch_microsecond;
}

bool same_rebase(const std::optional<Treatment::Rebase>& a, const std::optional<Treatment::Rebase>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return same_times(a->from, b->from) && same_times(a->to, b->to) && a->to_integer == b->to_integer &&
         a->keeps == b->keeps;
}

// The members of all files, by path.
class Gatherer {
 public:
  explicit Gatherer(Planning& plan)
      : plan_(plan),
        epochs_(plan.options.axis.kind == Axis::Kind::Existing &&
                plan.options.axis.source == Axis::Source::Date) {}

  Status gather() {
    constexpr std::uint64_t kStepsPerMember = 64;
    for (std::uint32_t file = 0; file < plan_.files.size(); ++file) {
      const auto& members = plan_.files[file].card->members;
      H5_TRY(plan_.budget.spend(kStepsPerMember * (members.size() + 1)));
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto at = number_of(i, members[i]->path);
        if (!at) {
          plan_.error =
              Error(ErrorCode::LimitExceeded,
                    fmt::format("{}: with it there are more than {} members (match= leaves files out)",
                                plan_.files[file].name(), kMostMembers));
          return {};
        }
        add(file, members[i], gathered_[*at]);
      }
    }
    return {};
  }

  // By path.
  std::vector<Gathered> take() {
    std::ranges::sort(gathered_, {}, &Gathered::path);
    return std::move(gathered_);
  }

 private:
  // The number of the path's member. Files have mostly the same members, so that the one of the file before
  // at the same place is tried first.
  std::optional<std::size_t> number_of(std::size_t place, std::string_view path) {
    if (places_.size() <= place) places_.resize(place + 1, 0);
    std::size_t& at = places_[place];
    if (at < gathered_.size() && gathered_[at].path == path) return at;
    const auto [found, is_new] = numbers_.try_emplace(path, gathered_.size());
    if (is_new) {
      if (gathered_.size() == kMostMembers) return std::nullopt;
      gathered_.push_back({.path = path, .files = {}, .variant = {}, .variants = {}, .known = {}});
    }
    return at = found->second;
  }

  void add(std::uint32_t file, const MemberCardPtr& card, Gathered& to) {
    if (!to.files.empty() && to.files.back() == file) return;  // a path that stands twice
    to.files.push_back(file);
    const bool own = epochs_ && card->kind == MemberCard::Kind::Dataset;
    std::string units = own ? counted_units(plan_, plan_.files[file], *card) : card->units;
    const bool counted = own && units != card->units;
    if (!counted && !to.variants.empty() && to.variants[to.variant.back()].card->get() == card.get()) {
      to.variant.push_back(to.variant.back());
      return;
    }
    const auto number = static_cast<std::uint32_t>(to.variants.size());
    if (!counted) {
      const auto [known, is_new] = to.known.try_emplace(reinterpret_cast<std::uintptr_t>(card.get()), number);
      if (!is_new) {
        to.variant.push_back(known->second);
        return;
      }
    }
    const AxisPlace place = axis_of(plan_.options.axis, *card);
    to.variants.push_back(
        {&card, file, place.dimension ? card->space.dims[*place.dimension] : 0, std::move(units)});
    to.variant.push_back(number);
  }

  Planning& plan_;
  const bool epochs_;  // files have their own
  std::vector<Gathered> gathered_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
  std::vector<std::size_t> places_;  // of members in a file, which of `gathered_` they are
};

// The places of files along the axis.
void place_files(Planning& plan, Plan& out) {
  std::uint64_t position = 0;
  for (const TakenFile& file : plan.files) {
    const auto end = checked_add(position, file.length);
    // Of :N each dataset has a length of its own.
    const bool common = plan.options.axis.kind != Axis::Kind::First;
    if (common && (!end || *end >> 63 != 0) && !plan.error)
      plan.error =
          Error(ErrorCode::InvalidValue,
                fmt::format("with {} records of {} the axis is longer than 2^63 (match= leaves files out)",
                            file.length, file.name()));
    out.files.push_back({file.card, position, file.length});
    position = end.value_or(position);
  }
}

Status plan_members(Planning& plan, Plan& out) {
  constexpr std::uint64_t kStepsPerPart = 16, kStepsPerVariant = 2000;
  Gatherer gatherer(plan);
  H5_TRY(gatherer.gather());
  if (plan.error) return {};
  const bool labelled = plan.options.axis.kind == Axis::Kind::New;
  std::vector<Gathered> gathered = gatherer.take();
  for (Gathered& one : gathered) {
    if (labelled && one.path == plan.options.axis.name) {
      plan.error = cannot_join(fmt::format("{} has a member {} already (join=+NAME with another name)",
                                           plan.name(one.variants[0]), shown_path(one.path)));
      out.members.clear();
      return {};
    }
    H5_TRY(plan.budget.spend(kStepsPerPart * plan.files.size() + kStepsPerVariant * one.variants.size()));
    out.members.push_back(plan_member(plan, one));
    one = {};
  }
  if (labelled) {
    PlannedMember added = label_coordinate(plan);
    const auto at = std::ranges::lower_bound(out.members, added.card->path, {},
                                             [](const PlannedMember& member) { return member.card->path; });
    out.members.insert(at, std::move(added));
  }
  settle_members(out.members);
  return {};
}

}  // namespace

bool Treatment::operator==(const Treatment& other) const {
  const bool same_fill = fill.has_value() == other.fill.has_value() &&
                         (!fill || (fill->own == other.fill->own && fill->joined == other.fill->joined));
  return same_fill && same_packing(unpack, other.unpack) && same_rebase(rebase, other.rebase);
}

const PlannedMember* Plan::find(std::string_view path) const {
  const auto found = std::ranges::lower_bound(
      members, path, {}, [](const PlannedMember& member) -> std::string_view { return member.card->path; });
  return found != members.end() && found->card->path == path ? &*found : nullptr;
}

Result<PlanPtr> make_plan(std::vector<FileCardPtr> cards, const Options& options, RequestBudget& budget) {
  constexpr std::uint64_t kStepsPerFile = 1000;
  H5_TRY(budget.spend(kStepsPerFile * (cards.size() + 1)));
  Planning plan{.options = options, .budget = budget};
  auto out = std::make_shared<Plan>();
  take_files(std::move(cards), plan);
  H5_TRY(order_files(plan));
  if (plan.files.empty() && !plan.error)
    plan.error = plan.left_out.empty()
                     ? cannot_join("there is no file to join")
                     : cannot_join(fmt::format("no file can be joined; {}: {}", plan.left_out[0].card->path,
                                               plan.left_out[0].why.text()));
  place_files(plan, *out);
  if (!plan.error) H5_TRY(plan_members(plan, *out));
  out->left_out = std::move(plan.left_out);
  out->error = std::move(plan.error);
  return out;
}

}  // namespace h5mount::join
