// Rules 1 and 2: which members are concatenated, which are copies, and what of them must be equal.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "h5mount/base/checked.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/text/value_text.h"
#include "packed_values.h"
#include "planner.h"

namespace h5mount::join {

namespace {

using Kind = MemberCard::Kind;

constexpr std::uint64_t kMostLength = std::numeric_limits<std::int64_t>::max();
// Parts of all members, 8 bytes each. A variable that few of many files have is as many parts as others:
// those of all such are half of these at most, so that one file cannot take the place of what the others
// have.
constexpr std::uint64_t kMostParts = std::uint64_t{1} << 23;

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::Group:
      return "a group";
    case Kind::Dataset:
      return "a dataset";
    case Kind::Datatype:
      return "a named type";
    case Kind::SoftLink:
      return "a soft link";
    case Kind::ExternalLink:
      break;
  }
  return "an external link";
}

std::string shape_text(const format::Dataspace& space) {
  return fmt::format("[{}]", fmt::join(space.dims, ","));
}

// An element that says that there is none, of types whose attributes do not say it; empty: the type has none.
std::vector<std::byte> not_a_number(const format::Datatype& type) {
  if (type.cls == format::DatatypeClass::Float && type.size == 2) return element_of(0x7E00, type);
  const format::Datatype* part = text::complex_part(type);
  if (!part && type.cls == format::DatatypeClass::Float) part = &type;
  const auto number = part ? meaning::number_type(*part) : std::nullopt;
  if (!number || meaning::is_integer(number->kind)) return {};
  const auto nan = element_of(std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()), *part);
  std::vector<std::byte> out(type.size);
  std::vector<std::size_t> places = {0};
  if (type.cls == format::DatatypeClass::Compound)
    places = {type.members[0].offset, type.members[1].offset};
  else if (part != &type)
    places = {0, part->size};
  for (const std::size_t place : places) {
    if (place + nan.size() > out.size()) return {};
    std::memcpy(out.data() + place, nan.data(), nan.size());
  }
  return out;
}

// What refers to an object of its own file, and is no part of something else.
bool is_joinable_reference(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::Reference && type.reference == format::ReferenceKind::Object1 &&
         type.size == sizeof(std::uint64_t);
}

class MemberRule {
 public:
  MemberRule(Planning& plan, const Gathered& in, PlannedMember& out)
      : plan_(plan), in_(in), out_(out), first_(in.variants[0]), card_(first_.of()) {}

  Status apply() {
    for (const Variant& one : in_.variants) H5_TRY(check_object(one));
    if (card_.kind != Kind::Dataset) return join_attributes(plan_, in_, false, out_);
    switch (plan_.options.axis.kind) {
      case Axis::Kind::Union:
        return copy();
      case Axis::Kind::New:
        if (card_.is_scale && (card_.without_values || copies_agree())) return copy();
        out_.added_axis = true;
        return concatenate(0);
      default:
        break;
    }
    const AxisPlace place = axis_of(plan_.options.axis, card_);
    for (const Variant& one : in_.variants) {
      const AxisPlace other = axis_of(plan_.options.axis, one.of());
      if (other.twice) return refuse("{} has the axis twice (match= leaves files out)", plan_.name(one));
      if (place.dimension.has_value() != other.dimension.has_value())
        return refuse("{} has the axis, {} does not (match= leaves files out)",
                      plan_.name(place.dimension ? first_ : one), plan_.name(place.dimension ? one : first_));
      if (place.dimension != other.dimension)
        return refuse("the axis is dimension {} in {}, {} in {} (match= leaves files out)", *place.dimension,
                      plan_.name(first_), *other.dimension, plan_.name(one));
    }
    return place.dimension ? concatenate(*place.dimension) : copy();
  }

 private:
  template <class... Args>
  std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(cannot_join(
        fmt::format("{}: {}", shown_path(in_.path), fmt::format(format, std::forward<Args>(args)...))));
  }

  Status check_object(const Variant& one) const {
    const MemberCard& card = one.of();
    if (card.kind != card_.kind)
      return refuse("{} in {}, {} in {}; what lies below it is not shown (match= leaves files out)",
                    kind_name(card_.kind), plan_.name(first_), kind_name(card.kind), plan_.name(one));
    if (card.error)
      return refuse("it cannot be read in {}: {} (match= leaves files out)", plan_.name(one),
                    card.error->text());
    if (card.target != card_.target)
      return refuse("it leads to {} in {}, to {} in {} (match= leaves files out)", card_.target,
                    plan_.name(first_), card.target, plan_.name(one));
    if (card.kind == Kind::Dataset && !card.type)
      return refuse("its type in {} is not known", plan_.name(one));
    if (card.kind == Kind::Dataset && card.type->has_reference && !is_joinable_reference(*card.type))
      return refuse("it has references that another file cannot say (match= leaves files out)");
    return {};
  }

  // ---- copies

  // Whether all are known to hold the same.
  bool copies_agree() const {
    const bool compared = card_.values.has_value() || in_.files.size() == 1;
    return compared && std::ranges::all_of(in_.variants, [&](const Variant& one) {
             return one.of().space.dims == card_.space.dims &&
                    (one.card->get() == &card_ || equal_copies(first_, one));
           });
  }

  Status copy() {
    out_.type = card_.type;
    out_.space = card_.space;
    out_.scales = card_.scales;
    out_.chunk = card_.chunk;
    bool times = false;
    if (plan_.options.conflict != Conflict::First) {
      H5_TRY(joined_type(plan_, in_));
      H5_ASSIGN(const TimeRule rule, time_rule(plan_, in_));
      times = !rule.from.empty();
      for (const Variant& one : in_.variants) H5_TRY(compare(one));
    }
    return join_attributes(plan_, in_, times, out_);
  }

  Status compare(const Variant& one) {
    const MemberCard& card = one.of();
    if (card.without_values && card_.without_values) return {};
    constexpr std::string_view kFirst = "(join_conflict=first takes the first's, match= leaves files out)";
    if (card.space.kind != card_.space.kind || card.space.dims != card_.space.dims)
      return refuse("{} in {}, {} in {}; without the axis it must be equal in all {}",
                    shape_text(card_.space), plan_.name(first_), shape_text(card.space), plan_.name(one),
                    kFirst);
    if (in_.files.size() == 1 || card.without_values || card.space.element_count() == 0) return {};
    if (!card_.values || !card.values) {
      out_.compared = false;
      if (card_.is_coordinate || card.is_coordinate)
        return refuse("its values in {} and {} cannot be compared, and it says where others' are {}",
                      plan_.name(first_), plan_.name(one), kFirst);
      if (!equal_attributes(card_, card))
        return refuse("{} and {} differ in its attributes; without the axis it must be equal in all {}",
                      plan_.name(first_), plan_.name(one), kFirst);
      return {};
    }
    if (one.card->get() != &card_ && !equal_copies(first_, one))
      return refuse("its values in {} and {} differ; without the axis they must be equal in all {}",
                    plan_.name(first_), plan_.name(one), kFirst);
    return {};
  }

  // ---- concatenated

  Status concatenate(std::uint32_t axis) {
    for (const Variant& one : in_.variants) H5_TRY(check_shape(one, axis));
    H5_ASSIGN(const TimeRule times, time_rule(plan_, in_));
    out_.axis = axis;
    H5_TRY(pack_and_rebase(plan_, in_, times, out_));
    H5_TRY(join_attributes(plan_, in_, !times.from.empty(), out_));
    set_units(times);
    H5_TRY(set_parts(axis));
    H5_TRY(set_space(axis));
    H5_TRY(check_gaps());
    plan_chunks(in_, out_);
    return {};
  }

  Status check_shape(const Variant& one, std::uint32_t axis) const {
    const MemberCard& card = one.of();
    if (card.space.kind == format::DataspaceKind::Null)
      return refuse("it has no elements in {} (match= leaves files out)", plan_.name(one));
    bool equal = card.space.rank() == card_.space.rank();
    for (std::size_t i = 0; equal && i < card.space.rank(); ++i)
      equal = (!out_.added_axis && i == axis) || card.space.dims[i] == card_.space.dims[i];
    if (!equal)
      return refuse(
          "{} in {}, {} in {}: all extents but that of the axis must be equal (match= leaves files out)",
          shape_text(card_.space), plan_.name(first_), shape_text(card.space), plan_.name(one));
    for (std::size_t i = 0; i < std::min(card.scales.size(), card_.scales.size()); ++i) {
      const bool named = !card.scales[i].empty() && !card_.scales[i].empty();
      if (named && card.scales[i] != card_.scales[i] && (out_.added_axis || i != axis))
        return refuse("dimension {} is {} in {}, {} in {} (match= leaves files out)", i,
                      shown_path(card_.scales[i]), plan_.name(first_), shown_path(card.scales[i]),
                      plan_.name(one));
    }
    return {};
  }

  // A dataset is as long as its dimension in each file.
  Status check_length(std::uint32_t file, const Variant& one, std::uint32_t axis) const {
    const MemberCard& card = one.of();
    if (plan_.options.axis.kind != Axis::Kind::Existing || card.without_values) return {};
    const auto* const dimension = plan_.files[file].dimension(card.scales[axis]);
    if (dimension && dimension->length != card.space.dims[axis])
      return refuse("in {} it has {} along {}, which has {} (match= leaves files out)",
                    plan_.files[file].name(), card.space.dims[axis], shown_path(card.scales[axis]),
                    dimension->length);
    return {};
  }

  // Units and calendar are the first's text, with the epoch that it counts from.
  void set_units(const TimeRule& times) {
    if (times.from.empty() && first_.units == card_.units) return;
    for (const CardAttribute& one : card_.attributes)
      if (one.name == "calendar")
        out_.attributes_set.emplace_back(one.name, card_.calendar);
      else if (one.name == "units")
        out_.attributes_set.emplace_back(one.name, first_.units);
  }

  // Treatments that variants share, and for each variant its number.
  std::vector<std::uint32_t> share_treatments() {
    std::vector<Treatment> all = std::move(out_.treatments), used;
    if (all.empty()) all.resize(in_.variants.size());
    std::vector<std::uint32_t> number;
    std::optional<std::uint32_t> nothing;
    for (Treatment& one : all) {
      std::uint32_t at = static_cast<std::uint32_t>(used.size());
      if (one.nothing() && nothing)
        at = *nothing;
      else if (!used.empty() && used.back() == one)
        --at;
      else
        used.push_back(std::move(one));
      if (used[at].nothing()) nothing = at;
      number.push_back(at);
    }
    out_.treatments = std::move(used);
    return number;
  }

  Status set_parts(std::uint32_t axis) {
    const bool rare = 2 * in_.files.size() < plan_.files.size();
    std::uint64_t& parts = rare ? plan_.rare_parts : plan_.parts;
    if (parts + plan_.files.size() > kMostParts / 2)
      return refuse("there are more than {} parts of variables (match= leaves files out)", kMostParts / 2);
    parts += plan_.files.size();
    const auto number = share_treatments();
    auto starts = std::vector<std::uint64_t>{0};
    starts.reserve(plan_.files.size() + 1);
    out_.parts.reserve(plan_.files.size());
    std::size_t at = 0;
    for (std::uint32_t file = 0; file < plan_.files.size(); ++file) {
      const bool has = at < in_.files.size() && in_.files[at] == file;
      std::uint64_t length = 1;
      if (has) {
        const std::uint32_t variant = in_.variant[at++];
        H5_TRY(check_length(file, in_.variants[variant], axis));
        if (!out_.added_axis) length = in_.variants[variant].of().space.dims[axis];
        out_.parts.push_back({file, number[variant]});
      } else {
        if (!out_.added_axis) {
          H5_ASSIGN(length, gap_length(file, axis));
        }
        out_.parts.push_back({file, PlannedMember::kGap});
        gap_ = gap_ || length != 0;
        if (length != 0 && !first_gap_) first_gap_ = file;
      }
      const auto end = checked_add(starts.back(), length);
      if (!end || *end > kMostLength)
        return refuse("with {} of {} it is longer than 2^63 (match= leaves files out)", length,
                      plan_.files[file].name());
      starts.push_back(*end);
    }
    out_.starts = shared(std::move(starts));
    return {};
  }

  Result<std::uint64_t> gap_length(std::uint32_t file, std::uint32_t axis) const {
    const TakenFile& in = plan_.files[file];
    const bool named = plan_.options.axis.kind == Axis::Kind::Existing;
    const auto* const dimension =
        in.dimension(named ? std::string_view(card_.scales[axis]) : std::string_view());
    if (dimension && !dimension->agreed)
      return refuse(
          "{} does not have it, and not all datasets there are of one length (match= leaves files out)",
          in.name());
    return dimension ? dimension->length : in.length;
  }

  std::shared_ptr<const std::vector<std::uint64_t>> shared(std::vector<std::uint64_t> starts) {
    constexpr std::size_t kMostCompared = 64;
    for (const auto& one : plan_.starts)
      if (*one == starts) return one;
    auto out = std::make_shared<const std::vector<std::uint64_t>>(std::move(starts));
    if (plan_.starts.size() < kMostCompared) plan_.starts.push_back(out);
    return out;
  }

  Status set_space(std::uint32_t axis) {
    out_.space = card_.space;
    out_.scales = card_.scales;
    auto& [kind, dims, most, below] = out_.space;
    kind = format::DataspaceKind::Simple;
    const std::uint64_t total = out_.starts->back();
    most.resize(dims.size());
    if (out_.added_axis) {
      dims.insert(dims.begin(), total);
      most.insert(most.begin(), total);
      out_.scales.resize(dims.size() - 1);
      out_.scales.insert(out_.scales.begin(), plan_.options.axis.name);
    } else {
      dims[axis] = total;
      if (most[axis] != format::kUnlimited) most[axis] = total;
    }
    for (std::size_t i = 0; i < dims.size(); ++i) most[i] = std::max(most[i], dims[i]);
    const auto count = out_.space.element_count();
    const auto bytes = count ? checked_mul(*count, out_.type->size) : std::nullopt;
    if (!bytes || *bytes > kMostLength)
      return refuse(
          "its {} elements of {} bytes are more than 2^63 bytes; {} has {} (match= leaves files out)",
          shape_text(out_.space), out_.type->size, longest(), shape_text(longest_variant().of().space));
    return {};
  }

  const Variant& longest_variant() const {
    return *std::ranges::max_element(in_.variants, {}, [](const Variant& one) { return one.extent; });
  }
  std::string_view longest() const { return plan_.name(longest_variant()); }

  Status check_gaps() {
    if (!gap_) {
      out_.gap_fill.clear();
      return {};
    }
    const std::string_view name = plan_.files[*first_gap_].name();
    if (names_axis(plan_.options.axis, in_.path))
      return refuse(
          "{} does not have it, and the coordinate of the axis can have no gap (match= leaves files out)",
          name);
    if (plan_.options.gap == Gap::Refuse)
      return refuse("{} does not have it (join_gap=fill fills the gap, match= leaves files out)", name);
    if (out_.gap_fill.empty()) out_.gap_fill = not_a_number(*out_.type);
    if (out_.gap_fill.empty())
      return refuse(
          "{} does not have it, and there is no fill value to stand for it, as _FillValue of integers is "
          "(match= leaves files out)",
          name);
    return {};
  }

  Planning& plan_;
  const Gathered& in_;
  PlannedMember& out_;
  const Variant& first_;
  const MemberCard& card_;
  bool gap_ = false;
  std::optional<std::uint32_t> first_gap_;
};

bool path_less(const PlannedMember& member, std::string_view path) {
  return member.card->path < path;
}

const PlannedMember* member_at(const std::vector<PlannedMember>& members, std::string_view path) {
  const auto found = std::lower_bound(members.begin(), members.end(), path, path_less);
  return found != members.end() && found->card->path == path ? &*found : nullptr;
}

// What lies below a path that is no group in all files.
void drop_hidden(std::vector<PlannedMember>& members) {
  std::vector<bool> hidden(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].error || hidden[i]) continue;
    const std::string below = members[i].card->path + "/";
    auto at = std::lower_bound(members.begin(), members.end(), below, path_less);
    for (; at != members.end() && at->card->path.starts_with(below); ++at)
      hidden[static_cast<std::size_t>(at - members.begin())] = true;
  }
  std::size_t at = 0;
  std::erase_if(members, [&](const PlannedMember&) { return hidden[at++]; });
}

}  // namespace

PlannedMember plan_member(Planning& plan, const Gathered& in) {
  PlannedMember out;
  const Variant& first = in.variants[0];
  out.card = *first.card;
  out.from = first.file;
  out.type = out.card->type;
  out.files = in.files.size();
  out.missing_in = plan.files.size() - in.files.size();
  if (const Status joined = MemberRule(plan, in, out).apply(); !joined) {
    PlannedMember refused;
    refused.card = out.card;
    refused.from = out.from;
    refused.type = out.card->type;
    refused.space = out.card->space;
    refused.scales = out.card->scales;
    refused.files = out.files;
    refused.missing_in = out.missing_in;
    refused.error = joined.error();
    return refused;
  }
  return out;
}

void settle_members(std::vector<PlannedMember>& members) {
  drop_hidden(members);
  std::vector<std::pair<std::size_t, Error>> found;
  for (std::size_t at = 0; at < members.size(); ++at) {
    PlannedMember& member = members[at];
    if (member.error) continue;
    for (std::size_t i = 0; i < member.scales.size(); ++i) {
      if (member.axis == i || member.scales[i].empty()) continue;
      const PlannedMember* const scale = member_at(members, member.scales[i]);
      if (!scale) continue;
      // It has a dimension more now, and is no scale.
      if (scale->added_axis) {
        member.scales[i].clear();
        continue;
      }
      if (scale == &member || !scale->error) continue;
      found.emplace_back(
          at, scale->error->within(fmt::format("the coordinate of {}", shown_path(member.card->path))));
      break;
    }
  }
  for (auto& [at, error] : found) {
    PlannedMember& member = members[at];
    member.error = std::move(error);
    member.axis.reset();
    member.added_axis = member.stored = false;
    member.starts.reset();
    member.parts.clear();
    member.treatments.clear();
    member.space = member.card->space;
    member.type = member.card->type;
    member.scales = member.card->scales;
  }
}

}  // namespace h5mount::join
