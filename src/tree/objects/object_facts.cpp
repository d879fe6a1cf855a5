#include "object_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/log.h"
#include "h5mount/dataset/open_dataset.h"

namespace h5mount::tree {

namespace {

bool is_unlimited_view(const object::DatasetDescription& description) {
  return description.layout.cls == format::LayoutClass::Virtual &&
         std::ranges::find(description.space.max_dims, format::kUnlimited) !=
             description.space.max_dims.end();
}

// The description as the object's header states it.
Result<DatasetDescriptionPtr> stated_description(ServedFile& file, const OpenedObject& object) {
  if (const auto& made = file.context().environment.made)
    if (const auto why = made->problem(object.object.address)) return fail(*why);
  const bool fresh = !object.description.peek();
  const auto describe = [&]() -> Result<DatasetDescriptionPtr> {
    H5_ASSIGN(object::DatasetDescription description,
              object::describe_dataset(*object.snapshot, object.object));
    for (const Error& error : description.disagreements)
      log_once(LogLevel::Warning, fmt::format("{}: dataset at {:#x}: {}", object.snapshot->source()->name(),
                                              description.address, error.text()));
    return std::make_shared<const object::DatasetDescription>(std::move(description));
  };
  H5_ASSIGN(DatasetDescriptionPtr described, object.description.get(describe, Unbounded()));
  if (fresh) file.objects().charge_again(object);
  return described;
}

}  // namespace

Result<DatasetDescriptionPtr> known_description_of(ServedFile& file, const OpenedObject& object) {
  H5_ASSIGN(DatasetDescriptionPtr described, stated_description(file, object));
  const auto measured = is_unlimited_view(*described) ? object.extent.peek() : std::nullopt;
  return measured ? std::make_shared<const object::DatasetDescription>((*measured)->description())
                  : described;
}

Result<DatasetDescriptionPtr> description_of(ServedFile& file, const OpenedObject& object,
                                             RequestBudget& budget) {
  H5_ASSIGN(DatasetDescriptionPtr described, stated_description(file, object));
  if (!is_unlimited_view(*described)) return described;
  // The extent of an unlimited virtual dataset is what its sources fill, not what the header states. Its
  // reader is kept, as it detects their growth; if many files are open, it is made again each time instead.
  const dataset::ReadEnvironment& environment = file.context().environment;
  const auto open = [&]() -> Result<std::shared_ptr<const dataset::DatasetReader>> {
    H5_ASSIGN(dataset::NextReader next,
              dataset::open_next_dataset(environment, file.file(), *described, object.extent_before, budget));
    return std::move(next.reader);
  };
  const bool stays = !environment.files->many_open() || object.extent.peek();
  const bool measured = object.extent.peek().has_value();
  const auto reader = stays ? object.extent.get(open, budget) : open();
  if (stays && !measured) file.objects().charge_again(object);
  if (reader) return std::make_shared<const object::DatasetDescription>((*reader)->description());
  if (is_passing(reader.error())) return fail(reader.error());
  return described;
}

Result<DatasetDescriptionPtr> viewed_description_of(ServedFile& file, const OpenedObject& object) {
  auto described = known_description_of(file, object);
  if (!described && described.error().code() == ErrorCode::TooLarge) return nullptr;
  return described;
}

Result<NodeSource> dataset_source(ServedFile& file, std::uint64_t address, const LinkPlace& place,
                                  RequestBudget& budget) {
  H5_ASSIGN(const OpenedObjectPtr object, file.object(address, budget));
  H5_ASSIGN(const DatasetDescriptionPtr description, known_description_of(file, *object));
  NodeSource out = file.as_source();
  out.object = file.path_of(place);
  out.all_in_file = description->layout.cls != format::LayoutClass::Virtual && description->external.empty();
  return out;
}

namespace {

constexpr std::uint32_t kReadBits = 0444;

NodeStat stat_of(const object::FileAttributes& file, const TreeOptions& options, NodeType type,
                 std::uint64_t ino) {
  const std::uint32_t read = file.mode & kReadBits;
  NodeStat stat;
  stat.type = type;
  stat.ino = ino;
  stat.mode = type == NodeType::Directory ? (read | read >> 2) & ~options.directory_umask
              : type == NodeType::File    ? read & ~options.file_umask
                                          : 0777;
  stat.uid = options.uid.value_or(file.uid);
  stat.gid = options.gid.value_or(file.gid);
  stat.mtime = file.mtime;
  stat.mtime_nanoseconds = file.mtime_nanoseconds;
  return stat;
}

}  // namespace

NodeStat plain_stat(const MountContext& context, NodeType type, std::uint64_t ino) {
  return stat_of(context.mounted_file()->attributes, context.options, type, ino);
}

NodeStat plain_stat(const ServedFile& file, NodeType type, std::uint64_t ino) {
  return stat_of(file.file()->attributes, file.context().options, type, ino);
}

NodeStat object_stat(const ServedFile& file, const object::Object& object, NodeType type) {
  NodeStat stat = plain_stat(file, type, file.ino_of(object.address));
  if (const auto time = object::object_modification_time(object); time && *time != 0) {
    stat.mtime = *time;
    stat.mtime_nanoseconds = 0;
  }
  if (type == NodeType::File) stat.nlink = std::max(1U, object.header->reference_count);
  return stat;
}

}  // namespace h5mount::tree
