#include "confined_open.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

#include "h5mount/base/mount_table.h"
#include "h5mount/base/text.h"

namespace h5mount::object {
namespace {

constexpr int kPathFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr unsigned kMaxSymlinks = 40;  // the kernel's own bound

Error open_error(int why, const std::string& name) {
  switch (why) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return Error(ErrorCode::NotFound, "no such file: " + name);
    case EXDEV:
      return Error(ErrorCode::AccessDenied,
                   name + " leads out of the directory that it must lie in (external=)");
    case ELOOP:
      return Error(ErrorCode::AccessDenied, name + " goes through a symlink that is not followed");
    case EACCES:
    case EPERM:
      return Error(ErrorCode::AccessDenied, "no permission to open " + name);
    default:
      return io_error(why, "opening " + name);
  }
}

Error on_own_mount(const std::string& name) {
  return Error(ErrorCode::AccessDenied,
               name + " lies on a mount of h5mount, which cannot be a source of one");
}

// Tracks which mount a path walk is in, without a request to any file system.
class MountCheck {
 public:
  explicit MountCheck(const RefusedTypes& refused) : refused_(refused) {}

  // The walk may begin on any mount.
  Status begin_at(const UniqueFd& fd) {
    H5_ASSIGN(mount_, mount_of(fd));
    return {};
  }
  Status enter(const UniqueFd& fd, const std::string& name) {
    H5_ASSIGN(const std::uint64_t mount, mount_of(fd));
    if (mount == mount_) return {};
    if (is_refused_mount(mount, refused_)) return fail(on_own_mount(name));
    mount_ = mount;
    return {};
  }

 private:
  static Result<std::uint64_t> mount_of(const UniqueFd& fd) {
    struct statx found = {};
    const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    if (::statx(fd.get(), "", flags, STATX_MNT_ID, &found) != 0)
      return fail(open_error(errno, "a directory"));
    if ((found.stx_mask & STATX_MNT_ID) == 0)
      return fail(
          Error(ErrorCode::AccessDenied, "the kernel does not tell where another file system begins"));
    return found.stx_mnt_id;
  }

  const RefusedTypes& refused_;
  std::uint64_t mount_ = 0;
};

// Resolves an absolute path component by component, following symlinks.
class PathWalk {
 public:
  PathWalk(std::string path, const RefusedTypes& refused)
      : name_(path), rest_(std::move(path)), mounts_(refused) {}

  Result<UniqueFd> run() {
    H5_TRY(go_to_root());
    H5_TRY(mounts_.begin_at(at_));
    while (!rest_.empty()) {
      std::string_view rest = rest_;
      const std::string part(take_until(rest, '/'));
      rest_ = std::string(rest);
      if (!part.empty() && part != ".") H5_TRY(step(part));
    }
    return std::move(at_);
  }

 private:
  Status go_to_root() {
    at_ = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return at_ ? Status() : fail(open_error(errno, "/"));
  }

  Status step(const std::string& part) {
    std::array<char, PATH_MAX> target;
    const ssize_t length = ::readlinkat(at_.get(), part.c_str(), target.data(), target.size());
    if (length >= 0) return follow({target.data(), static_cast<std::size_t>(length)});
    UniqueFd next(::openat(at_.get(), part.c_str(), kPathFlags | (rest_.empty() ? 0 : O_DIRECTORY)));
    if (!next) return fail(open_error(errno, name_));
    H5_TRY(mounts_.enter(next, name_));
    at_ = std::move(next);
    return {};
  }

  Status follow(std::string_view target) {
    if (++symlinks_ > kMaxSymlinks) return fail(open_error(ELOOP, name_));
    rest_ = std::string(target) + "/" + rest_;
    if (rest_.ends_with('/')) rest_.pop_back();
    if (rest_.size() > PATH_MAX) return fail(open_error(ENAMETOOLONG, name_));
    if (!target.starts_with('/')) return {};
    H5_TRY(go_to_root());
    return mounts_.begin_at(at_);
  }

  const std::string name_;
  std::string rest_;
  UniqueFd at_;
  MountCheck mounts_;
  unsigned symlinks_ = 0;
};

// Resolves without symlinks and rejects "..".
Result<UniqueFd> walk(const UniqueFd& directory, const std::string& relative, int flags,
                      const RefusedTypes& refused) {
  MountCheck mounts(refused);
  H5_TRY(mounts.begin_at(directory));
  UniqueFd at(::openat(directory.get(), ".", kPathFlags | O_DIRECTORY));
  std::string_view rest = relative;
  while (at && !rest.empty()) {
    const std::string part(take_until(rest, '/'));
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(open_error(EXDEV, relative));
    UniqueFd next(::openat(at.get(), part.c_str(), kPathFlags | (rest.empty() ? flags & O_DIRECTORY : 0)));
    if (!next)
      return fail(open_error(errno == ENOTDIR ? ELOOP : errno, relative));  // a component is a symlink
    H5_TRY(mounts.enter(next, relative));
    if (rest.empty() && (flags & O_PATH) == 0) return open_resolved(next, relative);
    at = std::move(next);
  }
  if ((flags & O_PATH) != 0 && at) return at;
  return fail(open_error(at ? EISDIR : errno, relative));
}

Result<UniqueFd> resolve_beneath(const UniqueFd& directory, const std::string& relative, int flags,
                                 std::uint64_t resolve, const RefusedTypes& refused) {
  open_how how = {};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = resolve | RESOLVE_NO_XDEV;
  for (int tries = 0; tries < 16; ++tries) {  // EAGAIN: a component was renamed during the resolution
    const long fd = ::syscall(SYS_openat2, directory.get(), relative.c_str(), &how, sizeof how);
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    // EXDEV: the path leaves the directory or enters another mount; `walk` distinguishes the two. Kernels
    // without openat2 return ENOSYS, seccomp filters older than the call EPERM.
    if (errno == EXDEV || errno == ENOSYS || errno == EPERM) return walk(directory, relative, flags, refused);
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return fail(open_error(errno, relative));
}

}  // namespace

bool is_refused_mount(std::uint64_t mount, const RefusedTypes& refused) {
  const auto mounts = read_mount_table();
  const auto found = std::ranges::find(mounts, mount, &MountEntry::number);
  return found == mounts.end() || found->type.empty() ||
         std::ranges::find(refused, found->type) != refused.end();
}

Result<UniqueFd> open_within(const UniqueFd& directory, const std::string& relative,
                             const RefusedTypes& refused) {
  return resolve_beneath(directory, relative, kReadFlags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, refused);
}

Result<UniqueFd> resolve_within(const UniqueFd& directory, const std::string& relative,
                                const RefusedTypes& refused) {
  H5_ASSIGN(UniqueFd fd,
            resolve_beneath(directory, relative, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, refused));
  struct stat found = {};
  if (::fstat(fd.get(), &found) != 0 || S_ISLNK(found.st_mode))  // one that leads out, where `walk` ended
    return fail(open_error(EXDEV, relative));
  return fd;
}

Result<UniqueFd> open_beneath(const UniqueFd& directory, const std::string& relative, int flags,
                              const RefusedTypes& refused) {
  return resolve_beneath(directory, relative, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, refused);
}

Result<UniqueFd> open_anywhere(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), kReadFlags));
  if (!fd) return fail(open_error(errno, path));
  return fd;
}

Result<UniqueFd> resolve_path_anywhere(const std::string& path, const RefusedTypes& refused) {
  return PathWalk(path, refused).run();
}

// Opening a symlink this way fails with ELOOP.
Result<UniqueFd> open_resolved(const UniqueFd& resolved, const std::string& name) {
  UniqueFd fd(::open(("/proc/self/fd/" + std::to_string(resolved.get())).c_str(), kReadFlags));
  if (!fd) return fail(open_error(errno, name));
  return fd;
}

std::string real_path_of(const UniqueFd& fd) {
  std::array<char, PATH_MAX> path;
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace h5mount::object
