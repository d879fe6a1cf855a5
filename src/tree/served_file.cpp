#include "served_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "node.h"

namespace h5mount::tree {

namespace {

// A header that is damaged in part is a failure, as it may be torn.
Result<object::Object> open_whole(const metadata::FileMetadata& file, std::uint64_t address) {
  auto object = object::open_object(file, address);
  if (object && object->header->damage) return fail(*object->header->damage);
  return object;
}

// What the user can remedy, and what is not supported, is a warning; damage is an error.
LogLevel level_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::UnsupportedVersion:
    case ErrorCode::UnsupportedFeature:
    case ErrorCode::LimitExceeded:
    case ErrorCode::NotFound:
    case ErrorCode::AccessDenied:
    case ErrorCode::TooLarge:
      return LogLevel::Warning;
    default:
      return LogLevel::Error;
  }
}

}  // namespace

ServedFile::ServedFile(ViewContextPtr context, object::OpenedFilePtr file, unsigned depth,
                       std::uint64_t ino_seed)
    : context_(std::move(context)),
      file_(std::move(file)),
      depth_(depth),
      ino_seed_(ino_seed),
      root_address_(file_->snapshot()->root_address()) {}

std::uint64_t ServedFile::ino_of(std::uint64_t address) const {
  return make_ino(ino_seed_, address);
}

Result<OpenedObjectPtr> ServedFile::object(std::uint64_t address, metadata::RetryBudget& budget) {
  metadata::FollowedFile& file = followed();
  H5_ASSIGN(metadata::FileMetadataPtr snapshot, file.current());
  const OpenedObjectPtr known = objects_.find(address, snapshot);
  if (known && !known->outgrown()) return known;
  const auto open = [&](const metadata::FileMetadataPtr& pinned) {
    snapshot = pinned;
    return open_whole(*pinned, address);
  };
  auto opened = file.following() ? metadata::retry_torn(file, "object header", budget, open)
                                 : object::open_object(*snapshot, address);
  // Damaged, not torn: as much of it as can be decoded.
  if (!opened && file.following()) opened = object::open_object(*snapshot, address);
  H5_TRY(file.confirm_unchanged());
  if (!opened) return fail(std::move(opened).error());
  const auto object =
      std::make_shared<const OpenedObject>(*std::move(opened), std::move(snapshot), known.get());
  objects_.insert(address, object);
  return object;
}

std::shared_ptr<const ObjectPaths> ServedFile::places() {
  const auto made =
      paths_.get([&] { return Result<std::shared_ptr<const ObjectPaths>>(ObjectPaths::walk(metadata())); });
  return made ? *made : std::make_shared<const ObjectPaths>();
}

std::optional<std::vector<std::string>> ServedFile::other_home(std::uint64_t address, std::uint64_t parent,
                                                               std::string_view name) {
  const std::lock_guard lock(homes_mutex_);
  const auto found = homes_.find(address);
  if (found == homes_.end()) {
    if (homes_.size() < limits::kMaxRememberedGroups)
      homes_.emplace(address, Home{parent, std::string(name)});
    return std::nullopt;
  }
  if (found->second.parent == parent && found->second.name == name) return std::nullopt;
  return names_home(address);
}

// Homes are remembered from parent to child, so the way up ends; above a group with several links the walk
// knows.
std::vector<std::string> ServedFile::names_home(std::uint64_t address) const {
  std::vector<std::string> names;
  while (address != root_address()) {
    const auto home = homes_.find(address);
    if (home == homes_.end() || names.size() > homes_.size()) break;
    names.push_back(home->second.name);
    address = home->second.parent;
  }
  if (const auto walked = paths_.peek(); walked && address != root_address()) {
    const auto above = (*walked)->names_to(address).value_or(std::vector<std::string_view>{});
    names.insert(names.end(), above.rbegin(), above.rend());
  }
  std::ranges::reverse(names);
  return names;
}

std::string ServedFile::path_of_group(std::uint64_t address) {
  std::string path;
  const std::lock_guard lock(homes_mutex_);
  for (const std::string& name : names_home(address)) path += "/" + name;
  return path.empty() ? "/" : path;
}

std::string ServedFile::path_of(const LinkPlace& place) {
  if (place.group == format::kUndefinedAddress) return "/";
  const std::string group = path_of_group(place.group);
  return group == "/" ? group + place.name : group + "/" + place.name;
}

std::string ServedFile::path_of_object(std::uint64_t address) {
  bool is_home = address == root_address();
  {
    const std::lock_guard lock(homes_mutex_);
    is_home = is_home || homes_.contains(address);
  }
  if (is_home) return path_of_group(address);
  return places()->path_to(address).value_or(fmt::format("object at {:#x}", address));
}

void ServedFile::report(std::string_view path, const Error& error) const {
  const std::string& file = file_->path.empty() ? followed().addresses()->name() : file_->path;
  // What has a place in the file is one cause, whatever needed it.
  const std::string cause =
      error.structure().empty()
          ? std::string()
          : fmt::format("{}: {}: {}.{} {:#x}", file, path, error.structure(), error.field(), error.offset());
  log_once(level_of(error.code()), fmt::format("{}: {}: {}", file, path, error.text()), metadata()->number(),
           cause);
}

text::ValueContext ServedFile::value_context(metadata::FileMetadataPtr snapshot) {
  return {std::move(snapshot),
          [self = shared_from_this()](std::uint64_t address) { return self->places()->path_to(address); }};
}

}  // namespace h5mount::tree
