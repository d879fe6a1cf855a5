#include "served_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "h5mount/base/advice.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/log.h"
#include "h5mount/base/momentary.h"
#include "inode_numbers.h"

namespace h5mount::tree {

namespace {

// Partial damage of a header is an error here, as the header may be torn.
Result<object::Object> open_whole(const metadata::FileMetadata& file, std::uint64_t address) {
  auto object = object::open_object(file, address);
  if (object && object->header->damage) return fail(*object->header->damage);
  return object;
}

// Errors that the user can remedy, and unsupported features, are warnings; damage is an error.
LogLevel level_of(const Error& error) {
  if (error.system_errno() == EBUSY) return LogLevel::Warning;  // a writer holds the file
  switch (error.code()) {
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

ServedFile::ServedFile(MountContextPtr context, object::OpenedFilePtr file, unsigned depth,
                       std::uint64_t ino_seed)
    : context_(std::move(context)),
      file_(std::move(file)),
      depth_(depth),
      ino_seed_(ino_seed),
      root_address_(file_->snapshot()->root_address()),
      objects_(context_->environment.files->memory()) {}

std::uint64_t ServedFile::ino_of(std::uint64_t address) const {
  return make_ino(ino_seed_, address);
}

NodeSource ServedFile::as_source() const {
  return {.file = file_->path, .object = {}, .own = file_ == context_->mounted_file()};
}

Result<OpenedObjectPtr> ServedFile::object(std::uint64_t address, RequestBudget& budget) {
  metadata::FollowedFile& file = followed();
  H5_ASSIGN(metadata::FileMetadataPtr snapshot, file.current());
  OpenedObjectPtr known = objects_.find(address, snapshot);
  if (known && !known->sources_changed()) return known;
  const auto open = [&](const metadata::FileMetadataPtr& pinned) {
    snapshot = pinned;
    return open_whole(*pinned, address);
  };
  const MomentaryWatch watch;  // part of the header may be missing for a moment
  auto opened = file.following() ? metadata::retry_torn(file, "object header", budget, open)
                                 : object::open_object(*snapshot, address);
  // The header is damaged, not torn: as much of it as can be decoded is used.
  if (!opened && file.following()) opened = object::open_object(*snapshot, address);
  opened = watch.unless_met(std::move(opened));
  if (!opened) {
    H5_TRY(file.confirm_unchanged());  // else the failure is not the object's
    return fail(std::move(opened).error());
  }
  auto object = std::make_shared<const OpenedObject>(*std::move(opened), std::move(snapshot), known.get());
  objects_.insert(address, object);
  return object;
}

std::shared_ptr<const ObjectPaths> ServedFile::object_paths() {
  const auto walk = [&] { return Result<std::shared_ptr<const ObjectPaths>>(ObjectPaths::walk(metadata())); };
  const auto made = paths_.get(walk, Unbounded());
  return made ? *made : std::make_shared<const ObjectPaths>();
}

void* ServedFile::kept(std::type_index type, std::shared_ptr<void> (*make)()) {
  const MutexLock lock(kept_mutex_);
  std::shared_ptr<void>& kept = kept_[type];
  if (!kept) kept = make();
  return kept.get();
}

std::optional<std::vector<std::string>> ServedFile::other_place(std::uint64_t address, std::uint64_t parent,
                                                                std::string_view name) {
  const MutexLock lock(places_mutex_);
  const auto found = first_places_.find(address);
  if (found == first_places_.end()) {
    if (first_places_.size() < limits::kMaxRememberedGroups)
      first_places_.emplace(address, Place{parent, std::string(name)});
    return std::nullopt;
  }
  if (found->second.parent == parent && found->second.name == name) return std::nullopt;
  return names_of_place(address);
}

// Places are recorded from parent to child, so the loop ends; above a group with several links the walk knows
// the path.
std::vector<std::string> ServedFile::names_of_place(std::uint64_t address) const {
  std::vector<std::string> names;
  while (address != root_address()) {
    const auto place = first_places_.find(address);
    if (place == first_places_.end() || names.size() > first_places_.size()) break;
    names.push_back(place->second.name);
    address = place->second.parent;
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
  const MutexLock lock(places_mutex_);
  for (const std::string& name : names_of_place(address)) path += "/" + name;
  return path.empty() ? "/" : path;
}

std::string ServedFile::path_of(const LinkPlace& place) {
  if (place.group == format::kUndefinedAddress) return "/";
  const std::string group = path_of_group(place.group);
  return group == "/" ? group + place.name : group + "/" + place.name;
}

std::string ServedFile::path_of_object(std::uint64_t address) {
  bool has_place = address == root_address();
  {
    const MutexLock lock(places_mutex_);
    has_place = has_place || first_places_.contains(address);
  }
  if (has_place) return path_of_group(address);
  return object_paths()->path_to(address).value_or(fmt::format("object at {:#x}", address));
}

void ServedFile::report(std::string_view path, const Error& error) const {
  const std::string& file = file_->path.empty() ? followed().source()->name() : file_->path;
  // An error with an offset in the file is one cause, whatever operation met it.
  const std::string cause =
      error.structure().empty()
          ? std::string()
          : fmt::format("{}: {}: {}.{} {:#x}", file, path, error.structure(), error.field(), error.offset());
  log_once(level_of(error), fmt::format("{}: {}: {}", file, path, text_with_advice(error)),
           metadata()->number(), cause);
}

namespace {

// The paths of the objects of one of the files that are joined: the last one that was asked for.
struct PathsOfJoined {
  Mutex mutex;
  std::uint64_t snapshot H5_GUARDED_BY(mutex) = 0;
  std::shared_ptr<const ObjectPaths> paths H5_GUARDED_BY(mutex);
};

}  // namespace

std::optional<std::string> ServedFile::path_of_reference(std::uint64_t address) {
  const join::JoinedFilePtr& joined = context_->options.joined;
  if (!joined || !join::is_foreign_reference(address)) return object_paths()->path_to(address);
  RequestBudget budget;
  const auto referred = joined->referred(address, budget);
  if (!referred) return std::nullopt;
  const metadata::FileMetadataPtr snapshot = referred->environment.files->main()->snapshot();
  auto& known = kept<PathsOfJoined>();
  std::shared_ptr<const ObjectPaths> paths;
  {
    const MutexLock lock(known.mutex);
    if (known.snapshot == snapshot->number()) paths = known.paths;
  }
  if (!paths) {
    paths = ObjectPaths::walk(snapshot);
    const MutexLock lock(known.mutex);
    known.snapshot = snapshot->number();
    known.paths = paths;
  }
  const auto path = paths->path_to(referred->address);
  return path ? std::optional(referred->file + ":" + *path) : std::nullopt;
}

text::ValueEnvironment ServedFile::value_environment(metadata::FileMetadataPtr snapshot) {
  return {.file = std::move(snapshot), .path_of = [self = shared_from_this()](std::uint64_t address) {
            return self->path_of_reference(address);
          }};
}

}  // namespace h5mount::tree
