#include "copy_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "h5mount/base/hash.h"
#include "h5mount/base/log.h"

namespace h5mount::front {
namespace {

constexpr std::string_view kTemporary = ".h5mount-copy-";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr ::mode_t kWhileWritten = 0700;

// The common prefix of all temporary names of one file.
std::string temporary_prefix(const std::string& name) {
  return fmt::format("{}{:016x}-", kTemporary, fnv1a(name));
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Result<CopyDirectoryPtr> CopyDirectory::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), kDirectory));
  if (!fd) return fail(io_error(errno, path));
  return CopyDirectoryPtr(new CopyDirectory(std::move(fd)));
}

Result<CopyDirectoryPtr> CopyDirectory::make_top(const std::string& path, const tree::NodeStat& stat) {
  const bool made = ::mkdir(path.c_str(), kWhileWritten) == 0;
  if (!made && errno != EEXIST) return fail(io_error(errno, "the directory cannot be made"));
  H5_ASSIGN(CopyDirectoryPtr out, open(path));
  H5_TRY(out->take_over(made, stat));
  return out;
}

Result<CopyDirectoryPtr> CopyDirectory::make(const CopyDirectoryPtr& parent, const std::string& name,
                                             const tree::NodeStat& stat) {
  const bool made = ::mkdirat(parent->fd(), name.c_str(), kWhileWritten) == 0;
  if (!made && errno != EEXIST) return fail(io_error(errno, "the directory cannot be made"));
  // An existing symlink could lead out of the destination, so none is followed.
  UniqueFd fd(::openat(parent->fd(), name.c_str(), kDirectory | O_NOFOLLOW));
  if (!fd) return fail(io_error(errno, "what is there is in the way of a directory"));
  CopyDirectoryPtr out(new CopyDirectory(std::move(fd)));
  out->parent_ = parent;
  H5_TRY(out->take_over(made, stat));
  return out;
}

Status CopyDirectory::take_over(bool made, const tree::NodeStat& stat) {
  struct stat there = {};
  if (!made && ::fstat(fd_.get(), &there) != 0) return fail(io_error(errno, "the directory"));
  if (!made && ::faccessat(fd_.get(), ".", W_OK, 0) != 0 && errno == EROFS)
    return fail(io_error(errno, "the directory cannot be written"));
  // A directory that an earlier copy finished is read-only and is made writable. Others keep their mode
  // meanwhile, as they may be in use.
  const bool writable = made || (there.st_mode & S_IWUSR) != 0;
  const bool ours = made || there.st_uid == ::geteuid() || ::geteuid() == 0;
  if (!writable && ours && ::fchmod(fd_.get(), kWhileWritten) != 0)
    return fail(io_error(errno, "the directory cannot be written"));
  if (ours) stat_ = stat;  // another user's directory keeps its mode and times
  return made ? Status() : remove_leftovers({});
}

CopyDirectory::~CopyDirectory() {
  if (!stat_) return;
  if (const Status done = set_status(fd(), *stat_); !done)
    log(LogLevel::Warning, "a directory: {}", done.error().text());
}

Status CopyDirectory::remove_leftovers(const std::string& name) const {
  UniqueFd fd(::openat(fd_.get(), ".", kDirectory));
  if (!fd) return fail(io_error(errno, "the directory cannot be listed"));
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd.get()));
  if (!directory) return fail(io_error(errno, "the directory cannot be listed"));
  fd.release();
  const std::string prefix = name.empty() ? std::string(kTemporary) : temporary_prefix(name);
  while (const dirent* entry = ::readdir(directory.get())) {
    // Only files have temporary names; unlink refuses directories.
    if (std::string_view(entry->d_name).starts_with(prefix)) ::unlinkat(fd_.get(), entry->d_name, 0);
  }
  return {};
}

std::string CopyDirectory::temporary_name(const std::string& name) {
  static std::atomic<std::uint64_t> number = 0;
  return fmt::format("{}{}-{}", temporary_prefix(name), ::getpid(), number.fetch_add(1));
}

Status set_status(int fd, const tree::NodeStat& stat) {
  if (::fchown(fd, stat.uid, stat.gid) != 0 && errno != EPERM && errno != EINVAL)
    return fail(io_error(errno, "the owner cannot be set"));
  if (::fchmod(fd, stat.mode & 07777) != 0) return fail(io_error(errno, "the mode cannot be set"));
  if (::futimens(fd, file_times(stat).data()) != 0) return fail(io_error(errno, "the times cannot be set"));
  return {};
}

RefusedXattrs set_xattrs(int fd, const Xattrs& xattrs) {
  RefusedXattrs refused;
  for (const auto& [name, value] : xattrs) {
    if (::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) == 0) continue;
    refused.takes_none = refused.takes_none || errno == EOPNOTSUPP;
    refused.names.push_back(name);
  }
  return refused;
}

std::array<std::timespec, 2> file_times(const tree::NodeStat& stat) {
  const std::timespec time = {static_cast<std::time_t>(stat.mtime),
                              static_cast<long>(stat.mtime_nanoseconds)};
  return {time, time};
}

}  // namespace h5mount::front
