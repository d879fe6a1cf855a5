#include "file_access.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "h5mount/base/log.h"
#include "h5mount/base/text.h"

namespace h5mount::object {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kOwnerReads = 0400, kGroupReads = 0040, kOthersRead = 0004;
constexpr std::uint32_t kOwnerSearches = 0100, kGroupSearches = 0010, kOthersSearch = 0001;
constexpr std::uint32_t kReadBits = kOwnerReads | kGroupReads | kOthersRead;
constexpr std::string_view kOrigin = "${ORIGIN}";

// Reduces the file's permissions to those of its parent directories: a file is readable only if all of them
// can be searched.
void restrict_by_parents(FoundFile& found, const std::string& root) {
  for (fs::path place = fs::path(found.real_path).parent_path(); place != root && place.has_relative_path();
       place = place.parent_path()) {
    struct stat st = {};
    const bool known = ::stat(place.c_str(), &st) == 0;
    const FileAttributes directory{.uid = st.st_uid, .gid = st.st_gid, .mode = st.st_mode};
    restrict_by_directory(found.attributes, known ? &directory : nullptr);
  }
}

Result<FoundFile> describe(UniqueFd fd, const std::string& path) {
  struct stat st = {};
  if (::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return fail(Error(ErrorCode::AccessDenied, path + " is not a regular file"));
  FoundFile found;
  found.path = path;
  found.real_path = real_path_of(fd);
  found.identity = {st.st_dev, st.st_ino};
  found.attributes = {st.st_uid, st.st_gid, st.st_mode & 0777U, st.st_mtim.tv_sec,
                      static_cast<std::uint32_t>(st.st_mtim.tv_nsec)};
  found.fd = std::move(fd);
  return found;
}

// `open` opens the same file again.
template <class Open>
io::ReopenFile reopen_by(Open open) {
  return [open = std::move(open)]() -> Result<int> {
    H5_ASSIGN(UniqueFd again, open());
    return again.release();
  };
}

Error fewer_readers_than_first(const std::string& path) {
  return Error(ErrorCode::AccessDenied,
               path + " has another owner or fewer readers than the set's first file");
}

// The entries are made absolute, as a background mount has another working directory.
std::string prefixes_from_environment(const char* name) {
  const char* value = std::getenv(name);
  std::string out;
  for (std::string_view rest = value != nullptr ? value : ""; !rest.empty();) {
    const std::string_view one = take_until(rest, ':');
    if (one.empty()) continue;
    std::error_code ignored;
    if (!out.empty()) out += ':';
    out += one.starts_with(kOrigin) ? std::string(one) : fs::absolute(one, ignored).string();
  }
  return out;
}

}  // namespace

void ExternalAccess::read_environment() {
  link_prefixes = prefixes_from_environment("HDF5_EXT_PREFIX");
  virtual_prefixes = prefixes_from_environment("HDF5_VDS_PREFIX");
  raw_prefixes = prefixes_from_environment("HDF5_EXTFILE_PREFIX");
}

bool readable_by_all_readers(const FileAttributes& shown, const FileAttributes& source) {
  if ((source.mode & kReadBits) == kReadBits) return true;
  const bool owner = (shown.mode & kOwnerReads) == 0 || shown.uid == source.uid;
  const bool group = (shown.mode & kGroupReads) == 0 || shown.gid == source.gid;
  return owner && group && (shown.mode & kReadBits & ~source.mode) == 0;
}

Error fewer_readers(const std::string& source, const std::string& shown) {
  return Error(ErrorCode::AccessDenied,
               source + " has fewer readers than " + shown + ", which other users may read");
}

void restrict_by_directory(FileAttributes& file, const FileAttributes* directory) {
  const auto searchable = [&](bool same, std::uint32_t bit) {
    return directory != nullptr && (directory->mode & (same ? bit : kOthersSearch)) != 0;
  };
  const bool owner = directory != nullptr && directory->uid == file.uid;
  const bool group = directory != nullptr && directory->gid == file.gid;
  if (!searchable(owner, kOwnerSearches)) file.mode &= ~kOwnerReads;
  if (!searchable(group, kGroupSearches)) file.mode &= ~kGroupReads;
  if (!searchable(false, kOthersSearch)) file.mode &= ~kOthersRead;
}

void FileAccess::allow_own_directories(const std::vector<std::string>& directories) {
  if (options_.policy == ExternalPolicy::Any || options_.policy == ExternalPolicy::None) return;
  std::vector<std::string> allowed = options_.directories;
  if (options_.policy == ExternalPolicy::Beneath)
    allowed.insert(allowed.begin(), directories.begin(), directories.end());
  for (const std::string& path : allowed) {
    if (path.empty()) continue;
    if (within_ && path_within(path)) {
      roots_.push_back({path, nullptr});
      continue;
    }
    // A directory that cannot be opened is omitted; files in it are then reported when they are requested.
    if (UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); directory)
      roots_.push_back({path, std::make_shared<const UniqueFd>(std::move(directory))});
  }
}

std::optional<std::string> FileAccess::path_within(const std::string& path) const {
  if (!within_) return std::nullopt;
  const std::string& top = within_->path();
  if (path == top) return std::string();
  if (path.size() <= top.size() || !path.starts_with(top) || path[top.size()] != '/') return std::nullopt;
  return path.substr(top.size() + 1);
}

Result<std::shared_ptr<const UniqueFd>> FileAccess::directory_of(const Root& root) const {
  if (root.directory) return root.directory;
  H5_ASSIGN(UniqueFd fd, within_->open_directory(path_within(root.path).value_or("")));
  return std::make_shared<const UniqueFd>(std::move(fd));
}

Result<FoundFile> FileAccess::open_user_path(const std::string& path, const FileAttributes* first) const {
  const auto open = [path, within = within_, below = path_within(path)]() -> Result<UniqueFd> {
    if (!within) return with_descriptors([&] { return open_anywhere(path); });
    if (!below) return fail(Error(ErrorCode::NotFound, "no such file: " + path));
    return within->open_file(*below);
  };
  H5_ASSIGN(UniqueFd fd, open());
  H5_ASSIGN(FoundFile found, describe(std::move(fd), path));
  if (options_.for_others && first != nullptr && !readable_by_all_readers(*first, found.attributes))
    return fail(fewer_readers_than_first(path));
  found.reopen = reopen_by(open);
  return found;
}

Result<FoundFile> FileAccess::open_member(const std::string& path, const FileAttributes& first) const {
  H5_ASSIGN(UniqueFd fd, open_member_file(path));
  H5_ASSIGN(FoundFile found, describe(std::move(fd), path));
  const FileAttributes& member = found.attributes;
  if (options_.for_others && (member.uid != first.uid || !readable_by_all_readers(first, member)))
    return fail(fewer_readers_than_first(path));
  found.reopen = reopen_by([self = shared_from_this(), path] { return self->open_member_file(path); });
  return found;
}

Result<UniqueFd> FileAccess::open_member_file(const std::string& path) const {
  if (!options_.completes_sets)
    return fail(Error(ErrorCode::AccessDenied, path + " is named by the set's first file alone"));
  if (options_.policy == ExternalPolicy::None) return fail(refused(path));
  return with_descriptors([&]() -> Result<UniqueFd> {
    if (options_.policy == ExternalPolicy::Any) {
      H5_ASSIGN(const UniqueFd resolved, resolve_path_anywhere(path, options_.refused_types));
      return open_resolved(resolved, path);
    }
    const auto beneath = find_root(path);
    if (!beneath) return fail(refused(path));
    H5_ASSIGN(const auto directory, directory_of(*beneath->root));
    return open_beneath(*directory, beneath->relative, kReadFlags, options_.refused_types);
  });
}

Result<FoundFile> FileAccess::open_named(const NamingFile& from, const std::string& name, NameUse use) const {
  if (name.empty() || name.find('\0') != std::string::npos)
    return fail(Error(ErrorCode::NotFound, "a file name that no file can have"));
  if (options_.policy == ExternalPolicy::None) return fail(refused(name));
  if (from.directory.empty())
    return fail(Error(ErrorCode::AccessDenied, "no directory to look for " + name + " in"));
  std::optional<Error> problem;
  for (const std::string& path : candidates(from, name, use)) {
    auto found = open_path(path);
    if (found) return found;
    // AccessDenied for one candidate is more informative than NotFound for the others.
    const bool refused = found.error().code() != ErrorCode::NotFound;
    if (!problem || (refused && problem->code() == ErrorCode::NotFound)) problem = found.error();
  }
  return fail(problem ? *problem : Error(ErrorCode::NotFound, "no such file: " + name));
}

std::vector<std::string> FileAccess::candidates(const NamingFile& from, const std::string& name,
                                                NameUse use) const {
  std::vector<std::string> out;
  const fs::path wanted(name);
  if (wanted.is_absolute()) out.push_back(name);
  const fs::path last = wanted.is_absolute() ? wanted.filename() : wanted;
  if (last.empty()) return out;
  std::vector<std::string> places = prefixes(from, use);
  places.push_back(from.directory);
  places.push_back(from.target_directory);
  places.insert(places.end(), options_.directories.begin(), options_.directories.end());
  for (const std::string& place : places) {
    if (place.empty()) continue;
    std::string path = (fs::path(place) / last).string();
    if (std::ranges::find(out, path) == out.end()) out.push_back(std::move(path));
  }
  return out;
}

// Returns only prefixes within allowed directories: others would turn NotFound into AccessDenied for every
// missing file.
std::vector<std::string> FileAccess::prefixes(const NamingFile& from, NameUse use) const {
  std::string_view rest = use == NameUse::Link            ? options_.link_prefixes
                          : use == NameUse::VirtualSource ? options_.virtual_prefixes
                                                          : options_.raw_prefixes;
  std::vector<std::string> out;
  while (!rest.empty()) {
    const std::string_view one = take_until(rest, ':');
    std::string place(one);
    if (one.starts_with(kOrigin)) place = from.directory + std::string(one.substr(kOrigin.size()));
    place = fs::path(place).lexically_normal().string();
    const bool allowed = options_.policy == ExternalPolicy::Any || find_root(place);
    if (allowed && place.starts_with('/')) out.push_back(std::move(place));
  }
  return out;
}

Result<FoundFile> FileAccess::open_path(const std::string& path) const {
  const auto open = [self = shared_from_this(), path] {
    return with_descriptors([&] { return self->open_confined(path); });
  };
  H5_ASSIGN(UniqueFd fd, open());
  H5_ASSIGN(FoundFile found, describe(std::move(fd), path));
  const auto beneath = find_root(found.real_path);
  if (options_.for_others) restrict_by_parents(found, beneath ? beneath->root->path : "/");
  found.reopen = reopen_by(open);
  return found;
}

// Opens the path beneath the allowed directory that contains it. If it leaves that directory, its target may
// be in another allowed one, and is opened there by its path without symlinks.
Result<UniqueFd> FileAccess::open_confined(const std::string& path) const {
  const RefusedTypes& types = options_.refused_types;
  if (options_.policy == ExternalPolicy::Any) {
    H5_ASSIGN(const UniqueFd resolved, resolve_path_anywhere(path, types));
    return open_resolved(resolved, path);
  }
  if (const auto beneath = find_root(path)) {
    H5_ASSIGN(const auto directory, directory_of(*beneath->root));
    auto fd = open_within(*directory, beneath->relative, types);
    if (fd || fd.error().code() != ErrorCode::AccessDenied || !may_lead_elsewhere()) return fd;
  }
  if (!may_lead_elsewhere() || !find_root(fs::path(path).lexically_normal())) return fail(refused(path));
  H5_ASSIGN(const UniqueFd resolved, resolve_path_anywhere(path, types));
  const auto beneath = find_root(real_path_of(resolved));
  if (!beneath) return fail(refused(path));
  H5_ASSIGN(const auto directory, directory_of(*beneath->root));
  return open_within(*directory, beneath->relative, types);
}

// Whether a path may lead to another allowed directory. If there is only one directory, nothing outside of it
// is accessed: a path could lead to a file server that does not answer. With for_others that is possible only
// if directories are listed.
bool FileAccess::may_lead_elsewhere() const {
  return roots_.size() > 1 && (!options_.for_others || !options_.directories.empty());
}

std::optional<FileAccess::Beneath> FileAccess::find_root(const std::string& path) const {
  const fs::path wanted(path);
  for (const Root& root : roots_) {
    const fs::path base(root.path);
    const auto [rest, at] = std::mismatch(base.begin(), base.end(), wanted.begin(), wanted.end());
    if (rest != base.end()) continue;
    // The path is not normalised: only the kernel can resolve a ".." after a symlink.
    fs::path relative;
    for (auto part = at; part != wanted.end(); ++part) relative /= *part;
    return Beneath{&root, relative.empty() ? "." : relative.string()};
  }
  return std::nullopt;
}

Error FileAccess::refused(const std::string& path) const {
  if (options_.policy == ExternalPolicy::None)
    return Error(ErrorCode::AccessDenied,
                 path +
                     " is not opened (external=none; external=beneath or a directory "
                     "would allow it)");
  return Error(ErrorCode::AccessDenied,
               path + " is not beneath " +
                   (options_.policy == ExternalPolicy::Listed
                        ? "a directory that external= lists"
                        : "the mounted file's directory (external=beneath:DIRECTORY would "
                          "allow it)"));
}

}  // namespace h5mount::object
