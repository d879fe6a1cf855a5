#include "card_members.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "h5mount/base/text.h"
#include "h5mount/meaning/dimensions.h"
#include "h5mount/meaning/packing.h"

namespace h5mount::join {

namespace {

constexpr std::array kHidden = {"DIMENSION_LIST",      "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid",
                                "_Netcdf4Coordinates", "_NCProperties",  "_nc3_strict"};
// Without these it is not known what the elements mean.
constexpr std::array kNeeded = {"CLASS",         "NAME",      "DIMENSION_LIST", "scale_factor", "add_offset",
                                "_FillValue",    "valid_min", "valid_max",      "valid_range",  "_Unsigned",
                                "missing_value", "units",     "calendar",       "coordinates",  "bounds"};
constexpr std::array kByValue = {"scale_factor", "add_offset", "_FillValue", "missing_value",
                                 "valid_min",    "valid_max",  "valid_range"};

bool is_among(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view string_attribute(const MemberCard& card, std::string_view name) {
  const auto found = std::ranges::lower_bound(card.attributes, name, {}, &CardAttribute::name);
  return found != card.attributes.end() && found->name == name ? std::string_view(found->text)
                                                               : std::string_view();
}
bool has_attribute(const MemberCard& card, std::string_view name) {
  return std::ranges::binary_search(card.attributes, name, {}, &CardAttribute::name);
}

class AttributeCards {
 public:
  AttributeCards(CardSource& source, MemberCard& card) : source_(source), card_(card) {}

  Status read(const object::Object& object) {
    const Status visited = object::for_each_attribute(
        *source_.metadata, object, [&](const object::Attribute&) { return status_.has_value(); },
        [&](const Error& error) { note(error); }, object::AttributeDetail::Full,
        [&](object::Attribute& attribute) {
          if (status_) status_ = examine(attribute);
          know(attribute);
          attribute.data = {};
          attribute.owner = nullptr;
        });
    H5_TRY(status_);
    if (!visited) note(visited.error());
    H5_TRY(status_);
    std::ranges::sort(card_.attributes, {}, &CardAttribute::name);
    return {};
  }

  // All of them, unless they are large or damaged.
  std::shared_ptr<const std::vector<object::Attribute>> known() const { return known_; }

 private:
  void know(const object::Attribute& attribute) {
    constexpr std::size_t kMostKnown = 256U << 10;
    known_bytes_ += sizeof attribute + attribute.name.size() + attribute.data.size();
    if (attribute.damage || known_bytes_ > kMostKnown)
      known_ = nullptr;
    else if (known_)
      known_->push_back(attribute);
  }

  // Another attribute may be lost, which says what elements mean.
  void note(const Error& error) {
    known_ = nullptr;
    if (is_passing(error))
      status_ = fail(error);
    else if (!card_.error)
      card_.error = error;
  }

  Status examine(const object::Attribute& attribute) {
    constexpr std::uint64_t kStepsOfOne = 2'000;
    H5_TRY(source_.values.budget.spend(kStepsOfOne + attribute.name.size()));
    H5_TRY(source_.work.take(kStepsOfOne));
    if (is_among(kHidden, attribute.name) && !attribute.damage) return {};
    CardAttribute out{.name = attribute.name, .value = {}, .text = {}};
    auto damage = attribute.damage;
    if (!damage) {
      const auto digest =
          attribute_digest(attribute, source_.values, source_.work, is_among(kByValue, attribute.name));
      if (!digest && is_passing(digest.error())) return fail(digest.error());
      if (digest)
        out.value = *digest;
      else
        damage = digest.error();
    }
    if (damage && is_among(kNeeded, attribute.name)) card_.error = damage;
    if (damage)
      out.value = {mix_bits(source_.metadata->number()), mix_bits(card_.path.size() + attribute.name.size())};
    else
      H5_TRY(set_text(attribute, out));
    card_.attributes.push_back(std::move(out));
    return {};
  }

  Status set_text(const object::Attribute& attribute, CardAttribute& out) {
    const format::Datatype& type = *attribute.type;
    if (!text::is_string(type) || attribute.data.size() != type.size) return {};
    text::ValueContext values = source_.values;
    values.max_bytes = kMostCardText;
    const Status read = text::append_string(type, attribute.data, values, out.text);
    if (!read) out.text.clear();
    return read || !is_passing(read.error()) ? Status() : read;
  }

  CardSource& source_;
  MemberCard& card_;
  Status status_;
  std::shared_ptr<std::vector<object::Attribute>> known_ = std::make_shared<std::vector<object::Attribute>>();
  std::size_t known_bytes_ = 0;
};

Status set_packing(const CardSource& source, const object::Object& object,
                   const object::DatasetDescription& dataset, MemberCard& card) {
  const meaning::Subject subject{object, dataset, source.values, &source.environment, source.file};
  H5_ASSIGN(card.packing, meaning::packing_of(subject));
  if (!card.packing) return {};
  for (const std::string_view name : {"scale_factor", "add_offset"}) {
    if (!has_attribute(card, name)) continue;
    H5_ASSIGN(const auto numbers, meaning::attribute_numbers(subject, name));
    const bool single = numbers && numbers->bits.size() == 1;
    const double number = single ? meaning::as_double(*numbers, 0) : std::nan("");
    if (!std::isfinite(number) || (name == "scale_factor" && number == 0)) card.packing_sound = false;
  }
  return {};
}

Status set_dataset(const CardSource& source, const object::Object& object,
                   object::DatasetDescription description, MemberCard& card) {
  card.type = description.type;
  card.space = description.space;
  // Places in the file are no values.
  if (!description.type->has_variable_part && !description.type->has_reference &&
      description.fill.value.size() == description.type->size)
    card.fill = description.fill.value;
  card.layout = description.layout.cls;
  card.chunk = description.layout.chunk_dims;
  card.pipeline = pipeline_digest(description.pipeline);
  const meaning::DimensionRole role = meaning::dimension_role(*source.metadata, object);
  card.is_scale = card.is_coordinate = role.is_scale;
  card.without_values = role.without_values;
  card.scales.resize(card.space.rank());
  const auto scales = meaning::dimension_scales(source.values, object, card.space.rank(), role);
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (const auto found = source.walked.first.find(scales[i]);
        scales[i] != 0 && found != source.walked.first.end())
      card.scales[i] = source.walked.objects[found->second].path;
  H5_TRY(set_packing(source, object, description, card));
  if (card.is_scale)
    std::erase_if(card.attributes,
                  [](const CardAttribute& one) { return one.name == "CLASS" || one.name == "NAME"; });
  card.units = string_attribute(card, "units");
  card.calendar = string_attribute(card, "calendar");
  return source.values.budget.check();
}

Status describe(CardSource& source, object::Object object, MemberCard& card) {
  constexpr std::uint64_t kSteps = 20'000;
  H5_TRY(source.values.budget.spend(kSteps));
  AttributeCards attributes(source, card);
  H5_TRY(attributes.read(object));
  object.attributes = attributes.known();
  if (card.kind == MemberCard::Kind::Datatype) {
    H5_ASSIGN(card.type, object::committed_datatype(*source.metadata, object));
  } else if (card.kind == MemberCard::Kind::Dataset) {
    auto description = object::describe_dataset(*source.metadata, object);
    if (description) return set_dataset(source, object, *std::move(description), card);
    const object::DatasetParts parts = object::describe_parts(*source.metadata, object);
    if (parts.type) card.type = parts.description.type;
    if (parts.space) card.space = parts.description.space;
    card.scales.resize(card.space.rank());
    return fail(description.error());
  }
  return {};
}

// Finds datasets by names that stand in attributes.
class NamedMembers {
 public:
  NamedMembers(std::vector<MemberCard>& members, RequestBudget& budget)
      : members_(members), budget_(budget) {}

  // In the group of the dataset `from`, then in those around it; null: there is none.
  Result<MemberCard*> find(const MemberCard& from, std::string_view name) {
    std::string_view group = from.path;
    const bool absolute = name.starts_with('/');
    if (absolute) name.remove_prefix(1);
    for (bool more = true; more;) {
      const std::size_t slash = absolute ? std::string_view::npos : group.rfind('/');
      more = slash != std::string_view::npos;
      group = more ? group.substr(0, slash) : std::string_view();
      H5_TRY(charge(group.size() + name.size()));
      path_.assign(group);
      if (more) path_ += '/';
      path_ += name;
      const auto found = std::ranges::lower_bound(members_, path_, {}, &MemberCard::path);
      if (found != members_.end() && found->path == path_ && found->kind == MemberCard::Kind::Dataset)
        return &*found;
    }
    return nullptr;
  }

 private:
  Status charge(std::size_t bytes) {
    constexpr std::uint64_t kMostLookUps = 1U << 20, kMostBytes = 256U << 20, kSteps = 500;
    bytes_ += bytes;
    if (++look_ups_ > kMostLookUps || bytes_ > kMostBytes)
      return fail({ErrorCode::LimitExceeded, "attributes name too many coordinates"});
    return budget_.spend(kSteps + bytes);
  }

  std::vector<MemberCard>& members_;
  RequestBudget& budget_;
  std::uint64_t look_ups_ = 0, bytes_ = 0;
  std::string path_;
};

bool counts_time(std::string_view units) {
  std::string_view rest = units;
  (void)take_until(rest, ' ');
  return starts_ignoring_case(trim(rest), "since ");
}

}  // namespace

std::string_view last_component(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

Result<MemberCard> describe_member(CardSource& source, const WalkedObject& walked) {
  MemberCard out;
  out.path = walked.path;
  out.kind = walked.kind;
  out.target = walked.target;
  out.error = walked.error;
  using enum MemberCard::Kind;
  if (out.kind == SoftLink || out.kind == ExternalLink) return out;
  auto object = object::open_object(*source.metadata, walked.address);
  const Status described = object ? describe(source, *std::move(object), out) : Status(fail(object.error()));
  if (!described && is_passing(described.error())) return fail(described.error());
  if (!described && !out.error) out.error = described.error();
  return out;
}

Status relate_members(std::vector<MemberCard>& members, RequestBudget& budget) {
  NamedMembers named(members, budget);
  for (const MemberCard& member : members) {
    if (member.kind != MemberCard::Kind::Dataset) continue;
    for (const std::string_view attribute : {"coordinates", "bounds", "climatology"}) {
      for (std::string_view rest = string_attribute(member, attribute); !rest.empty();) {
        const std::string_view name = trim(take_until(rest, ' '), " \t\n\r");
        if (name.empty()) continue;
        H5_ASSIGN(MemberCard* const of, named.find(member, name));
        if (of == nullptr) continue;
        of->is_coordinate = true;
        if (attribute == "coordinates" || !of->units.empty() || !counts_time(member.units)) continue;
        of->bounds_time = true;
        of->units = member.units;
        of->calendar = member.calendar;
      }
    }
  }
  return {};
}

}  // namespace h5mount::join
