#include "h5mount/object/source_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "confined_open.h"
#include "h5mount/io/descriptors.h"
#include "h5mount/object/resolve_path.h"

namespace h5mount::object {
namespace {

constexpr std::chrono::milliseconds kKeptOpen{300};
constexpr unsigned kMaxLinks = 40;  // as in Linux

// Not mix_bits: inode numbers are made of it, and another version goes on with a mount (`survive`).
std::uint64_t digest(std::initializer_list<std::uint64_t> values) {
  std::uint64_t out = 0x9E37'79B9'7F4A'7C15;
  for (const std::uint64_t value : values) {
    out = (out ^ value) * 0xBF58'476D'1CE4'E5B9;
    out ^= out >> 29;
  }
  return out == 0 ? 1 : out;
}

std::uint64_t nanoseconds(const statx_timestamp& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

SourceEntry::Kind kind_of_mode(unsigned mode) {
  if (S_ISDIR(mode)) return SourceEntry::Kind::Directory;
  if (S_ISREG(mode)) return SourceEntry::Kind::File;
  return S_ISLNK(mode) ? SourceEntry::Kind::Symlink : SourceEntry::Kind::Other;
}

SourceEntry::Kind kind_of_type(unsigned char type) {
  switch (type) {
    case DT_DIR:
      return SourceEntry::Kind::Directory;
    case DT_REG:
      return SourceEntry::Kind::File;
    case DT_LNK:
      return SourceEntry::Kind::Symlink;
    default:
      return SourceEntry::Kind::Other;
  }
}

SourceEntry entry_of(const struct statx& found) {
  SourceEntry out;
  out.kind = kind_of_mode(found.stx_mode);
  out.attributes = {found.stx_uid, found.stx_gid, found.stx_mode & 0777U, found.stx_mtime.tv_sec,
                    found.stx_mtime.tv_nsec};
  out.size = found.stx_size;
  out.blocks = found.stx_blocks;
  const std::uint64_t device = makedev(found.stx_dev_major, found.stx_dev_minor);
  // The birth time is included because inode numbers are reused.
  const std::uint64_t born = (found.stx_mask & STATX_BTIME) != 0 ? nanoseconds(found.stx_btime) : 0;
  out.identity = digest({device, found.stx_ino, born, found.stx_mode & static_cast<unsigned>(S_IFMT)});
  out.modified = static_cast<std::int64_t>(nanoseconds(found.stx_mtime));
  out.stamp =
      digest({out.identity, found.stx_size, nanoseconds(found.stx_mtime), nanoseconds(found.stx_ctime)});
  if (found.stx_nlink > 1 && out.kind == SourceEntry::Kind::File)
    out.hard_link = digest({device, found.stx_ino});
  return out;
}

Error stat_error(int why, const std::string& name) {
  if (why == ENOENT || why == ENOTDIR || why == ENAMETOOLONG)
    return {ErrorCode::NotFound, "no such file: " + name};
  if (why == EACCES || why == EPERM) return {ErrorCode::AccessDenied, "no permission to look at " + name};
  return io_error(why, "looking at " + name);
}

std::string path_of_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "/") + name;
  return out;
}

// The rest of `path` below `directory`; nullopt if it is not below it.
std::optional<std::string_view> below(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return std::nullopt;
  path.remove_prefix(directory.size());
  if (!path.empty() && path.front() != '/' && directory != "/") return std::nullopt;
  return path;
}

}  // namespace

SourceDirectory::SourceDirectory(UniqueFd fd, std::string path, std::string named,
                                 std::vector<std::string> refused_types)
    : fd_(std::move(fd)),
      path_(std::move(path)),
      named_(std::move(named)),
      refused_types_(std::move(refused_types)) {}

Result<std::shared_ptr<const SourceDirectory>> SourceDirectory::open(const std::string& path,
                                                                     std::vector<std::string> refused_types) {
  std::error_code code;
  std::string named = std::filesystem::absolute(path, code).lexically_normal().string();
  while (named.size() > 1 && named.ends_with('/')) named.pop_back();
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(stat_error(errno, path));
  std::string real = real_path_of(fd);
  auto made = std::shared_ptr<const SourceDirectory>(
      new SourceDirectory(std::move(fd), std::move(real), std::move(named), std::move(refused_types)));
  H5_TRY(made->stat_entry({}, {}));
  return made;
}

Result<UniqueFd> SourceDirectory::open_directory(std::string_view relative) const {
  return with_descriptors([&] {
    return open_beneath(fd_, relative.empty() ? "." : std::string(relative), O_PATH | O_DIRECTORY,
                        refused_types_);
  });
}

Result<SourceDirectory::OpenedPtr> SourceDirectory::opened(std::string_view directory) const {
  const auto now = Clock::now();
  {
    const MutexLock lock(mutex_);
    for (const Recent& recent : recent_)
      if (recent.opened && recent.directory == directory && now < recent.until) return recent.opened;
  }
  H5_ASSIGN(UniqueFd fd, open_directory(directory));
  struct statx found = {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &found) != 0)
    return fail(stat_error(errno, std::string(directory)));
  auto made = std::make_shared<const Opened>(std::move(fd), found.stx_mnt_id);
  OpenedPtr oldest;  // closed after the lock is released
  const MutexLock lock(mutex_);
  Recent& recent = recent_[next_++ % recent_.size()];
  oldest = std::exchange(recent.opened, made);
  recent.directory = directory;
  recent.until = now + kKeptOpen;
  return made;
}

// The kernel alone answers the first call, even at the root of a mount that this program serves.
Result<SourceEntry> SourceDirectory::stat_in(const Opened& directory, const std::string& name) const {
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    return fail(stat_error(ENOENT, name));
  struct statx found = {};
  if (::statx(directory.fd.get(), name.c_str(), kFlags | AT_STATX_DONT_SYNC, STATX_MNT_ID, &found) != 0)
    return fail(stat_error(errno, name));
  if (found.stx_mnt_id != directory.mount && is_refused_mount(found.stx_mnt_id, refused_types_))
    return fail(stat_error(ENOENT, name));
  if (::statx(directory.fd.get(), name.c_str(), kFlags, kWanted, &found) != 0)
    return fail(stat_error(errno, name));
  return entry_of(found);
}

Result<SourceEntry> SourceDirectory::stat_entry(std::string_view directory, const std::string& name) const {
  H5_ASSIGN(const OpenedPtr open, opened(directory));
  return stat_in(*open, name);
}

Status SourceDirectory::for_each(std::string_view directory, const Visit& visit) const {
  H5_ASSIGN(const OpenedPtr open, opened(directory));
  UniqueFd list(::openat(open->fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!list) return fail(stat_error(errno, std::string(directory)));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(list.get()), ::closedir);
  if (!stream) return fail(stat_error(errno, std::string(directory)));
  (void)list.release();
  for (;;) {
    errno = 0;
    const dirent* const item = ::readdir(stream.get());
    if (item == nullptr) break;
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") visit(name, kind_of_type(item->d_type));
  }
  return errno == 0 ? Status() : fail(io_error(errno, "listing " + std::string(directory)));
}

Result<std::string> SourceDirectory::read_link(std::string_view directory, const std::string& name) const {
  H5_ASSIGN(const OpenedPtr open, opened(directory));
  std::string text(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(open->fd.get(), name.c_str(), text.data(), text.size());
  if (length < 0) return fail(stat_error(errno, name));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

Result<std::string> SourceDirectory::resolve(std::string_view directory, std::string_view target) const {
  std::vector<std::string> at, pending;
  unsigned links = 0;
  const auto follow = [&](std::string_view text) -> Status {
    if (pending.size() + text.size() > PATH_MAX) return fail(stat_error(ENAMETOOLONG, std::string(target)));
    if (!text.starts_with('/')) return push_components(text, pending), Status();
    auto rest = below(text, path_);
    if (!rest) rest = below(text, named_);
    if (!rest) return fail(Error(ErrorCode::AccessDenied, "it leads out of the directory that is shown"));
    at.clear();
    return push_components(*rest, pending), Status();
  };
  push_components(directory, at);
  std::ranges::reverse(at);
  H5_TRY(follow(target));
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (name == "..") {
      if (at.empty())
        return fail(Error(ErrorCode::AccessDenied, "it leads out of the directory that is shown"));
      at.pop_back();
      continue;
    }
    const std::string here = path_of_names(at);
    H5_ASSIGN(const SourceEntry entry, stat_entry(here, name));
    if (entry.kind == SourceEntry::Kind::Symlink) {
      if (++links > kMaxLinks) return fail(io_error(ELOOP, "following " + std::string(target)));
      H5_ASSIGN(const std::string text, read_link(here, name));
      H5_TRY(follow(text));
      continue;
    }
    if (!pending.empty() && entry.kind != SourceEntry::Kind::Directory)
      return fail(stat_error(ENOTDIR, std::string(target)));
    at.push_back(name);
  }
  return path_of_names(at);
}

Result<UniqueFd> SourceDirectory::open_file(std::string_view relative) const {
  const std::string name(relative);
  const auto open = [&]() -> Result<UniqueFd> {
    H5_ASSIGN(const UniqueFd found, open_beneath(fd_, name, O_PATH | O_NOFOLLOW, refused_types_));
    struct stat st = {};
    if (::fstat(found.get(), &st) != 0) return fail(stat_error(errno, name));
    if (!S_ISREG(st.st_mode)) return fail(Error(ErrorCode::AccessDenied, name + " is not a regular file"));
    return open_resolved(found, name);
  };
  return with_descriptors(open);
}

Result<std::shared_ptr<io::ByteSource>> SourceDirectory::open_source(std::string_view relative) const {
  const io::DescriptorPlace place;
  H5_ASSIGN(UniqueFd fd, open_file(relative));
  const std::string path = path_ + "/" + std::string(relative);
  // The source holds the directory's descriptor.
  H5_ASSIGN(UniqueFd here, open_directory({}));
  const auto again = std::shared_ptr<const SourceDirectory>(
      new SourceDirectory(std::move(here), path_, named_, refused_types_));
  return io::make_file_source(fd.release(), path, [again, name = std::string(relative)]() -> Result<int> {
    H5_ASSIGN(UniqueFd opened, again->open_file(name));
    return opened.release();
  });
}

}  // namespace h5mount::object
