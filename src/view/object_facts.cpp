#include "object_facts.h"

#include <algorithm>
#include <unordered_set>

#include "dataset_image.h"
#include "h5mount/base/log.h"
#include "h5mount/view/names.h"

namespace h5mount {

namespace {

bool is_unlimited_view(const DatasetDescription& description) {
  return description.layout.cls == LayoutClass::Virtual &&
         std::ranges::find(description.space.max_dims, kUnlimited) != description.space.max_dims.end();
}

}  // namespace

Result<DatasetDescriptionPtr> description_of(FileView& file, const OpenedObject& object) {
  H5_ASSIGN(DatasetDescriptionPtr described, object.description.get([&]() -> Result<DatasetDescriptionPtr> {
    H5_ASSIGN(DatasetDescription description, describe_dataset(*file.metadata(), object.object));
    return std::make_shared<const DatasetDescription>(std::move(description));
  }));
  if (!is_unlimited_view(*described)) return described;
  // The extent of an unlimited view is what its sources fill, not what the header says. Its reader stays, as it tells
  // when they have grown, unless so many files are open already that it is better made anew each time.
  const ReadEnvironment& environment = file.context().environment;
  const auto open = [&] {
    return DatasetReader::open_next(environment, file.file(), *described, object.extent_before);
  };
  const bool stays = !environment.files->crowded() || object.extent.peek();
  if (const auto reader = stays ? object.extent.get(open) : open())
    return std::make_shared<const DatasetDescription>((*reader)->description());
  return described;
}

NodeStat plain_stat(const ViewContext& context, NodeType type, std::uint64_t ino) {
  NodeStat stat;
  stat.type = type;
  stat.ino = ino;
  stat.mode = type == NodeType::Directory ? context.options.directory_mode
              : type == NodeType::File    ? context.options.file_mode
                                          : 0777;
  stat.mtime = context.options.mtime;
  return stat;
}

NodeStat object_stat(const FileView& file, const Object& object, NodeType type) {
  NodeStat stat = plain_stat(file.context(), type, file.ino_of(object.address));
  if (const auto time = object_modification_time(object); time && *time != 0) stat.mtime = *time;
  if (type == NodeType::File) stat.nlink = std::max(1U, object.header->reference_count);
  return stat;
}

namespace {

std::string encoded(std::string_view name, AttributeNaming naming) {
  return naming == AttributeNaming::Xattr ? encode_attribute_name(name) : encode_name(name);
}

// Shown name and own name of every attribute, in order; stops where `each` says so.
template <class Each>
Status for_each_shown(const FileView& file, const Object& object, AttributeNaming naming, Each&& each) {
  const std::size_t bound = naming == AttributeNaming::Xattr ? kMaxShownAttribute : kMaxShownName;
  NameGiver giver;
  return for_each_attribute(
      *file.metadata(), object,
      [&](const Attribute& attribute) {
        const std::string shown = giver.give(attribute.name, encoded(attribute.name, naming), bound);
        return each(shown, attribute.name);
      },
      [&](const Error& error) { log_error(error.within("attributes of the object", object.address)); },
      AttributeDetail::Name);
}

Result<Attribute> find_cut_attribute(const FileView& file, const Object& object, std::string_view shown,
                                     AttributeNaming naming) {
  std::optional<std::string> name;
  H5_TRY(for_each_shown(file, object, naming, [&](const std::string& candidate, const std::string& own) {
    if (candidate == shown) name = own;
    return !name.has_value();
  }));
  if (!name) return fail({ErrorCode::NotFound, "no such attribute"});
  return find_attribute(*file.metadata(), object, *name);
}

}  // namespace

Result<Attribute> find_shown_attribute(const FileView& file, const OpenedObject& object, std::string_view shown,
                                       AttributeNaming naming) {
  if (may_be_cut(shown)) return find_cut_attribute(file, object.object, shown, naming);
  const auto name = naming == AttributeNaming::Xattr ? decode_attribute_name(shown) : decode_name(shown);
  if (!name) return fail({ErrorCode::NotFound, "no such attribute"});
  return find_attribute(*file.metadata(), object.object, *name);
}

Result<std::vector<std::string>> shown_attribute_names(const FileView& file, const OpenedObject& object,
                                                       AttributeNaming naming) {
  std::vector<std::string> names;
  std::unordered_set<std::string> met;  // damaged storage may hold a name twice
  H5_TRY(for_each_shown(file, object.object, naming, [&](const std::string& shown, const std::string&) {
    if (met.insert(shown).second) names.push_back(shown);
    return true;
  }));
  return names;
}

Result<std::string> attribute_text(FileView& file, const Attribute& attribute, std::size_t most_bytes) {
  if (attribute.damage) return fail(*attribute.damage);
  const Error too_large(ErrorCode::TooLarge, "the value's text is longer than an extended attribute can be");
  // Each element of an array takes a character and a comma at least.
  const auto count = attribute.space.element_count();
  if (attribute.space.kind == DataspaceKind::Simple && (!count || *count > most_bytes / 2 + 1))
    return fail(too_large);
  H5_ASSIGN(std::string text,
            value_text(*attribute.type, attribute.space, attribute.data, file.value_context()));
  if (text.size() > most_bytes) return fail(too_large);
  return text;
}

}  // namespace h5mount
