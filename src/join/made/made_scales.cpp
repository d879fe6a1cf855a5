#include "made_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "h5mount/dataset/converted_dataset.h"
#include "made_types.h"

namespace h5mount::join {
namespace {

constexpr std::string_view kClass = "CLASS", kName = "NAME", kReferences = "REFERENCE_LIST";
constexpr std::string_view kList = "DIMENSION_LIST", kLabels = "DIMENSION_LABELS";
constexpr std::string_view kNumber = "_Netcdf4Dimid", kNumbers = "_Netcdf4Coordinates";
// As netCDF names a dimension without a variable, before its length.
constexpr std::string_view kWithoutValues = "This is a netCDF dimension but not a netCDF variable.";

// A scale has no scales of its own, but for netCDF, whose coordinates may have several dimensions.
bool is_scale(const PlannedMember& member, const MadeObject& object) {
  if (object.kind != MadeObject::Kind::Dataset || member.error) return false;
  return member.card->is_scale && !(member.added_axis && member.axis);
}

std::string scale_name(const MadeMember& made) {
  const MadeObject& object = made.object;
  const std::string own = object.path.substr(object.path.rfind('/') + 1);
  if (!made.member->card->without_values) return own;
  return fmt::format("{}{:10}", kWithoutValues, object.space.dims.empty() ? 0 : object.space.dims[0]);
}

MadeAttribute* find_attribute(MadeObject& object, std::string_view name) {
  const auto found = std::ranges::find(object.attributes, name, &MadeAttribute::name);
  return found == object.attributes.end() ? nullptr : &*found;
}

MadeAttribute vector_attribute(std::string_view name, format::DatatypePtr type, std::uint64_t length) {
  MadeAttribute out;
  out.name = name;
  out.space.kind = format::DataspaceKind::Simple;
  out.space.dims = out.space.max_dims = {length};
  out.value.bytes.resize(static_cast<std::size_t>(length) * type->size);
  out.type = std::move(type);
  return out;
}

// NAME stays the first file's, which may be a longer one; that of a dimension without values tells its
// length.
void name_scale(MadeMember& made) {
  if (find_attribute(made.object, kClass) == nullptr)
    made.object.attributes.push_back(text_attribute(kClass, "DIMENSION_SCALE", TextForm::Terminated));
  MadeAttribute* const name = find_attribute(made.object, kName);
  const bool without = made.member->card->without_values;
  MadeAttribute wanted = text_attribute(kName, scale_name(made), TextForm::Terminated);
  if (name == nullptr)
    made.object.attributes.push_back(std::move(wanted));
  else if (without)
    *name = std::move(wanted);
}

// Which datasets have a scale, and for which of their dimensions.
struct ScaleUse {
  std::string path;
  std::uint32_t dimension = 0;
};

void add_users(MadeObject& scale, const std::vector<ScaleUse>& users) {
  constexpr std::uint32_t kBytes = 16;  // a reference, a number, and what C puts behind it
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Compound;
  type->size = kBytes;
  type->has_reference = true;
  type->members = {{"dataset", 0, reference_type()},
                   {"dimension", 8, dataset::integer_type(4, true, format::ByteOrder::Little)}};
  MadeAttribute list = vector_attribute(kReferences, std::move(type), users.size());
  for (std::size_t i = 0; i < users.size(); ++i) {
    list.value.references.push_back({i * kBytes, users[i].path});
    store_number(list.value.bytes, i * kBytes + 8, users[i].dimension, 4);
  }
  scale.attributes.push_back(std::move(list));
}

void add_list(MadeObject& dataset, const std::vector<std::string>& scales) {
  constexpr std::size_t kBytes = 16;
  MadeAttribute list = vector_attribute(kList, sequence_type(reference_type()), scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (scales[i].empty()) continue;
    MadeValue reference;
    reference.bytes.resize(8);
    reference.references.push_back({0, scales[i]});
    list.value.sequences.push_back({i * kBytes, 1, {std::move(reference)}});
  }
  dataset.attributes.push_back(std::move(list));
}

MadeAttribute numbers_attribute(std::string_view name, const std::vector<std::uint32_t>& numbers) {
  MadeAttribute out =
      vector_attribute(name, dataset::integer_type(4, true, format::ByteOrder::Little), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) store_number(out.value.bytes, 4 * i, numbers[i], 4);
  return out;
}

// netCDF's coordinates of several dimensions are scales, which have no list: it numbers all dimensions.
void number_dimensions(MadeMembers& members,
                       const std::map<std::string, std::uint32_t, std::less<>>& scales) {
  for (const auto& [path, number] : scales) {
    MadeMember& made = members.at(path);
    MadeAttribute own = numbers_attribute(kNumber, {number});
    own.space = {};
    made.object.attributes.push_back(std::move(own));
    if (made.object.space.rank() < 2) continue;
    std::vector<std::uint32_t> numbers;
    for (const std::string& scale : made.member->scales) {
      const auto found = scales.find(scale);
      if (found != scales.end()) numbers.push_back(found->second);
    }
    if (numbers.size() == made.object.space.rank())
      made.object.attributes.push_back(numbers_attribute(kNumbers, numbers));
  }
}

}  // namespace

bool says_dimensions(std::string_view attribute, const PlannedMember& member) {
  constexpr std::array kAnew = {kReferences, kList, kNumber, kNumbers};
  const bool longer = member.added_axis && member.axis;
  if (longer && (attribute == kClass || attribute == kName || attribute == kLabels)) return true;
  return std::ranges::find(kAnew, attribute) != kAnew.end();
}

void add_scales(MadeMembers& members) {
  std::map<std::string, std::uint32_t, std::less<>> scales;  // by path, and their numbers
  bool of_many_dimensions = false;
  for (auto& [path, made] : members) {
    if (made.member == nullptr || !is_scale(*made.member, made.object)) continue;
    name_scale(made);
    of_many_dimensions =
        of_many_dimensions || (made.object.space.rank() > 1 && !made.member->scales.empty() &&
                               std::ranges::none_of(made.member->scales, &std::string::empty));
    scales.emplace(path, static_cast<std::uint32_t>(scales.size()));
  }
  std::map<std::string, std::vector<ScaleUse>, std::less<>> users;
  for (auto& [path, made] : members) {
    if (made.member == nullptr || made.member->error || scales.contains(path)) continue;
    const std::size_t rank = made.object.space.rank();
    if (made.object.kind != MadeObject::Kind::Dataset || made.member->scales.size() != rank) continue;
    std::vector<std::string> own;
    bool any = false;
    for (std::uint32_t i = 0; i < rank; ++i) {
      const std::string& scale = made.member->scales[i];
      const bool is_one = !scale.empty() && scales.contains(scale);
      own.push_back(is_one ? scale : std::string());
      any = any || is_one;
      if (is_one) users[scale].push_back({path, i});
    }
    if (any) add_list(made.object, own);
  }
  for (const auto& [path, of] : users) add_users(members.at(path).object, of);
  if (of_many_dimensions) number_dimensions(members, scales);
}

}  // namespace h5mount::join
