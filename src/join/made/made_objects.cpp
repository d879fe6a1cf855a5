#include "made_objects.h"

#include <algorithm>
#include <map>
#include <set>

#include "h5mount/base/limits.h"
#include "h5mount/base/request_budget.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/format/encode.h"
#include "h5mount/text/json_writer.h"
#include "made_scales.h"
#include "made_types.h"
#include "made_values.h"

namespace h5mount::join {
namespace {

using format::DatatypeClass;
using Kind = MemberCard::Kind;

constexpr std::string_view kLeftOut = "h5mount_left_out", kFillAttribute = "_FillValue";

std::string_view parent_of_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

bool same_types(const format::DatatypePtr& a, const format::DatatypePtr& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  const auto stored_a = format::encode_datatype(*a), stored_b = format::encode_datatype(*b);
  return stored_a && stored_b && *stored_a == *stored_b;
}

// libhdf5 converts no strings of one character set to those of the other.
bool charsets_differ(const format::Datatype& a, const format::Datatype& b) {
  if (text::is_string(a) && text::is_string(b)) return a.charset != b.charset;
  if (a.base && b.base) return charsets_differ(*a.base, *b.base);
  for (const format::CompoundMember& member : a.members) {
    const auto other = std::ranges::find(b.members, member.name, &format::CompoundMember::name);
    if (other != b.members.end() && charsets_differ(*member.type, *other->type)) return true;
  }
  return false;
}

// The file that attributes are taken from. Members of the plan are mostly the first file's, so only the last
// one that was asked for is open.
struct OpenFile {
  std::uint32_t number = 0;
  dataset::ReadEnvironment environment;
  metadata::FileMetadataPtr metadata;
  std::unique_ptr<ValueReader> values;
};

class ObjectMaker {
 public:
  ObjectMaker(const Plan& plan, MadeFor use, const OpenPlanned& open, RequestBudget& budget)
      : plan_(plan), use_(use), open_(open), budget_(budget) {
    for (const PlannedMember& member : plan.members) {
      const std::string_view path = member.card->path;
      if (!path.empty()) parents_.emplace(parent_of_path(path));
    }
  }

  Result<std::vector<MadeObject>> make() {
    for (const PlannedMember& member : plan_.members) {
      H5_TRY(budget_.check());
      H5_TRY(add(member));
    }
    complete_groups();
    add_scales(members_);
    name_left_out();
    std::vector<MadeObject> out;
    for (auto& [path, made] : members_) out.push_back(std::move(made.object));
    return out;
  }

 private:
  // No file has it.
  static bool is_made(const PlannedMember& member) { return !member.made.empty() || !member.texts.empty(); }
  bool storing() const { return use_ == MadeFor::Storing; }

  Status add(const PlannedMember& member) {
    MadeObject object;
    object.path = member.card->path;
    if (member.error) return add_error(member, std::move(object), *member.error);
    switch (member.card->kind) {
      case Kind::SoftLink:
        object.kind = MadeObject::Kind::SoftLink;
        object.target = member.card->target;
        return keep(member, std::move(object));
      case Kind::ExternalLink:  // leads out of the file that it is in
        if (storing()) left_out_[object.path] = "an external link";
        return {};
      case Kind::Group:
        H5_TRY(add_attributes(member, object));
        return keep(member, std::move(object));
      case Kind::Datatype:
        object.kind = MadeObject::Kind::Datatype;
        object.type = member.card->type;
        break;
      case Kind::Dataset:
        object.kind = MadeObject::Kind::Dataset;
        object.type = member.type;
        object.space = member.space;
        break;
    }
    return add_typed(member, std::move(object));
  }

  Status add_typed(const PlannedMember& member, MadeObject object) {
    if (!object.type)
      return add_error(member, std::move(object), Error(ErrorCode::InvalidValue, "its type is not known"));
    object.space.max_dims.resize(object.space.rank());
    for (std::size_t i = 0; i < object.space.rank(); ++i)
      object.space.max_dims[i] = std::max(object.space.max_dims[i], object.space.dims[i]);
    if (const auto stored = format::encode_datatype(*object.type); !stored)
      return add_error(member, std::move(object), stored.error());
    if (object.kind == MadeObject::Kind::Dataset) {
      object.fill = fill_of(member);
      H5_ASSIGN(const std::optional<std::string> reason, place_elements(member, object));
      if (reason) {
        left_out_[object.path] = *reason;
        return {};
      }
    }
    H5_TRY(add_attributes(member, object));
    return keep(member, std::move(object));
  }

  Status keep(const PlannedMember& member, MadeObject object) {
    std::string path = object.path;
    members_.insert_or_assign(std::move(path), MadeMember{std::move(object), &member});
    return {};
  }

  // A path with others below it stays a group.
  Status add_error(const PlannedMember& member, MadeObject object, const Error& why) {
    if (storing()) left_out_[object.path] = why.text();
    if (object.path.empty() || parents_.contains(object.path)) {
      MadeObject group;
      group.path = object.path;
      return keep(member, std::move(group));
    }
    if (storing()) return {};
    MadeObject empty;
    empty.path = object.path;
    empty.kind = MadeObject::Kind::Dataset;
    empty.type = dataset::integer_type(1, false, format::ByteOrder::Little);
    empty.space.kind = format::DataspaceKind::Simple;
    empty.space.dims = empty.space.max_dims = {0};
    return keep(member, std::move(empty));
  }

  // HDF5's own fill value of the first file, or what stands in gaps.
  std::vector<std::byte> fill_of(const PlannedMember& member) const {
    if (member.type->has_variable_part || member.type->has_reference) return {};
    const bool gaps = std::ranges::any_of(
        member.parts, [](const Part& part) { return part.treatment == PlannedMember::kGap; });
    const bool own =
        member.card->fill.size() == member.type->size && same_types(member.card->type, member.type);
    const bool other = member.gap_fill.size() == member.type->size && (gaps || !own);
    if (other) return member.gap_fill;
    return own ? member.card->fill : std::vector<std::byte>();
  }

  // ---- elements

  // Returns why a dataset cannot be stored, if it cannot.
  Result<std::optional<std::string>> place_elements(const PlannedMember& member, MadeObject& object) {
    if (is_made(member)) {
      object.elements = made_elements(member);
      return std::nullopt;
    }
    if (!storing()) {
      object.chunk = member.chunk;
      if (!member.stored) return std::nullopt;
      H5_ASSIGN(const std::optional<object::Object> first, object_of(member));
      if (!first) return std::nullopt;
      object.pipeline = object::describe_parts(*file_.metadata, *first).description.pipeline;
      if (object.pipeline.version == 3) object.pipeline = {};  // of structured chunks
      return std::nullopt;
    }
    if (auto reason = unsayable(member)) return reason;
    if (member.axis) {
      add_parts(member, object);
      return std::nullopt;
    }
    if (object.space.rank() == 0) return copy_elements(member, object);
    object.sources.push_back({plan_.files[member.from].card->path, member.card->path, 0, 1});
    return std::nullopt;
  }

  static MadeValue made_elements(const PlannedMember& member) {
    if (member.texts.empty()) return {member.made, {}, {}};
    if (member.type->cls == DatatypeClass::VariableLength) return string_values(member.texts);
    MadeValue out;
    for (const std::string& one : member.texts) {
      const std::size_t at = out.bytes.size();
      const ByteSpan bytes = as_bytes(one).first(std::min<std::size_t>(one.size(), member.type->size));
      out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
      out.bytes.resize(at + member.type->size);
    }
    return out;
  }

  // What a virtual dataset cannot say: it shows elements of its sources as they are.
  std::optional<std::string> unsayable(const PlannedMember& member) const {
    if (member.type->has_reference) return "its references lead to objects of their own files";
    if (member.parts.size() > limits::kMaxVirtualMappings)
      return "a virtual dataset has no more than 2^20 sources";
    for (const Part& part : member.parts) {
      if (part.treatment == PlannedMember::kGap) continue;
      const Treatment& treatment = member.treatments[part.treatment];
      if (treatment.unpack) return "packings differ, so that its elements are unpacked";
      if (treatment.rebase) return "times are counted from different epochs, so that they are rebased";
      if (treatment.fill) return "fill values differ, so that they are mapped";
    }
    const std::string& path = member.card->path;
    for (const Part& part : member.parts) {
      const MemberCardPtr* const own =
          part.treatment == PlannedMember::kGap ? nullptr : plan_.files[part.file].card->find(path);
      if (own != nullptr && (*own)->type && (*own)->type != member.type &&
          charsets_differ(*(*own)->type, *member.type))
        return "its strings are ASCII in some files and UTF-8 in others";
    }
    return std::nullopt;
  }

  void add_parts(const PlannedMember& member, MadeObject& object) const {
    object.dimension = *member.axis;
    for (std::size_t i = 0; i < member.parts.size(); ++i) {
      const Part& part = member.parts[i];
      if (part.treatment == PlannedMember::kGap) continue;
      const std::uint64_t start = (*member.starts)[i];
      object.sources.push_back({plan_.files[part.file].card->path, object.path, start,
                                (*member.starts)[i + 1] - start, member.added_axis});
    }
  }

  // A single element is better in the file itself: no version of libhdf5 makes virtual datasets of them.
  Result<std::optional<std::string>> copy_elements(const PlannedMember& member, MadeObject& object) {
    const format::DatatypePtr made = type_for_made(member.type);
    H5_ASSIGN(const std::optional<object::Object> first, object_of(member));
    if (!made || !first) return "it cannot be read";
    auto bytes = elements_of(*first);
    if (!bytes && is_passing(bytes.error())) return fail(bytes.error());
    if (!bytes) return bytes.error().text();
    auto value = file_.values->read(*member.type, *made, *bytes);
    if (!value && is_passing(value.error())) return fail(value.error());
    if (!value) return value.error().text();
    object.type = made;
    object.elements = *std::move(value);
    return std::nullopt;
  }

  Result<std::vector<std::byte>> elements_of(const object::Object& first) {
    H5_ASSIGN(object::DatasetDescription description, object::describe_dataset(*file_.metadata, first));
    H5_ASSIGN(const dataset::DatasetReaderPtr reader,
              dataset::open_dataset(file_.environment, file_.environment.files->main(), description));
    if (reader->size() > kMostMadeBytes)
      return fail(Error(ErrorCode::TooLarge, "a single element of more than 256 MiB"));
    std::vector<std::byte> out(static_cast<std::size_t>(reader->size()));
    H5_TRY(reader->read_into(0, out, budget_));
    return out;
  }

  // ---- attributes

  Status open_file(std::uint32_t number) {
    if (file_.metadata && file_.number == number) return {};
    H5_ASSIGN(dataset::ReadEnvironment environment, open_(number));
    file_ = {number, std::move(environment), nullptr, nullptr};
    file_.metadata = file_.environment.files->main()->snapshot();
    const auto has = [this](std::string_view path) { return plan_.find(path) != nullptr; };
    file_.values = std::make_unique<ValueReader>(file_.metadata, has, bytes_left_, budget_);
    return {};
  }

  static object::ObjectKind kind_of(const PlannedMember& member) {
    switch (member.card->kind) {
      case Kind::Dataset:
        return object::ObjectKind::Dataset;
      case Kind::Datatype:
        return object::ObjectKind::Datatype;
      default:
        return object::ObjectKind::Group;
    }
  }

  // The member in the file that it is planned from; nullopt if it is damaged, or no longer what it was.
  Result<std::optional<object::Object>> object_of(const PlannedMember& member) {
    H5_TRY(open_file(member.from));
    const auto address =
        object::resolve_path(file_.metadata, file_.metadata->root_address(), member.card->path);
    auto object = address ? object::open_object(*file_.metadata, *address)
                          : Result<object::Object>(fail(address.error()));
    if (!object && is_passing(object.error())) return fail(object.error());
    if (!object || object->kind != kind_of(member)) return std::nullopt;
    return *std::move(object);
  }

  Status add_attributes(const PlannedMember& member, MadeObject& object) {
    std::map<std::string_view, const std::string*> set;
    for (const auto& [name, text] : member.attributes_set) set.emplace(name, &text);
    if (!is_made(member)) H5_TRY(copy_attributes(member, set, object));
    if (!member.fill_value.empty()) {
      std::erase_if(object.attributes, [](const MadeAttribute& one) { return one.name == kFillAttribute; });
      MadeAttribute fill{.name = std::string(kFillAttribute), .type = member.type, .space = {}, .value = {}};
      fill.space.kind = format::DataspaceKind::Simple;
      fill.space.dims = {1};
      fill.value.bytes = member.fill_value;
      object.attributes.push_back(std::move(fill));
    }
    for (const auto& [name, text] : set)
      if (text != nullptr) object.attributes.push_back(text_attribute(name, *text, TextForm::Fixed));
    return {};
  }

  // Those of `set` that the file has are written in their form, and then null.
  Status copy_attributes(const PlannedMember& member, std::map<std::string_view, const std::string*>& set,
                         MadeObject& made) {
    H5_ASSIGN(const std::optional<object::Object> first, object_of(member));
    if (!first) return {};
    std::set<std::string_view> dropped(member.attributes_differ.begin(), member.attributes_differ.end());
    dropped.insert(member.attributes_gone.begin(), member.attributes_gone.end());
    Status met;
    const auto visit = [&](const object::Attribute& one) {
      const auto stated = set.find(one.name);
      if (stated != set.end()) {
        const bool variable = one.type && one.type->cls == DatatypeClass::VariableLength;
        made.attributes.push_back(
            text_attribute(one.name, *stated->second, variable ? TextForm::Variable : TextForm::Fixed));
        stated->second = nullptr;
        return true;
      }
      if (dropped.contains(one.name) || says_dimensions(one.name, member)) return true;
      auto copied = file_.values->read(one);
      if (!copied) {
        met = fail(copied.error());
        return false;
      }
      if (*copied && format::encode_datatype(*(*copied)->type))
        made.attributes.push_back(**std::move(copied));
      return true;
    };
    std::optional<Error> passing;
    const auto damaged = [&](const Error& error) {
      if (is_passing(error)) passing = error;
    };
    const Status listed = object::for_each_attribute(*file_.metadata, *first, visit, damaged);
    H5_TRY(met);
    if (passing) return fail(*passing);
    if (!listed && is_passing(listed.error())) return listed;
    return {};
  }

  // ---- the whole

  // Each path has its groups.
  void complete_groups() {
    std::vector<std::string> paths{""};
    for (const auto& [path, made] : members_)
      for (std::string_view at = path; !at.empty();) paths.emplace_back(at = parent_of_path(at));
    for (const std::string& path : paths) {
      MadeMember& made = members_[path];
      made.object.path = path;
    }
  }

  void name_left_out() {
    if (left_out_.empty()) return;
    std::string json;
    text::JsonWriter writer(json);
    writer.begin_object();
    for (const auto& [path, reason] : left_out_) writer.member("/" + path, reason);
    writer.end_object();
    MadeAttribute attribute = text_attribute(kLeftOut, json, TextForm::Variable);
    attribute.type = string_type(0, format::CharacterSet::Utf8);
    std::vector<MadeAttribute>& attributes = members_[""].object.attributes;
    std::erase_if(attributes, [](const MadeAttribute& one) { return one.name == kLeftOut; });
    attributes.push_back(std::move(attribute));
  }

  const Plan& plan_;
  const MadeFor use_;
  const OpenPlanned& open_;
  RequestBudget& budget_;
  std::uint64_t bytes_left_ = kMostMadeBytes;
  std::set<std::string, std::less<>> parents_;  // paths of members that have members
  MadeMembers members_;
  std::map<std::string, std::string> left_out_;  // by path: why
  OpenFile file_;
};

}  // namespace

Result<std::vector<MadeObject>> made_objects(const Plan& plan, MadeFor use, const OpenPlanned& open,
                                             RequestBudget& budget) {
  return ObjectMaker(plan, use, open, budget).make();
}

}  // namespace h5mount::join
