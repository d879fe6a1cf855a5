#include "copy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "write_pieces.h"

namespace h5mount::front {
namespace {

bool later(const std::timespec& a, const std::timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// Puts `temporary` in the place of `name`.
Status put_in_place(const CopyDirectory& directory, const std::string& temporary, const std::string& name) {
  if (::renameat(directory.fd(), temporary.c_str(), directory.fd(), name.c_str()) == 0) return {};
  const int reason = errno;
  ::unlinkat(directory.fd(), temporary.c_str(), 0);
  return fail(io_error(reason, "cannot be renamed to its name"));
}

}  // namespace

Result<TemporaryFile> TemporaryFile::make(CopyDirectoryPtr directory, const std::string& name) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  for (;;) {
    std::string temporary = CopyDirectory::temporary_name(name);
    UniqueFd fd(::openat(directory->fd(), temporary.c_str(), kFlags, 0600));
    if (fd) return TemporaryFile(std::move(directory), std::move(temporary), std::move(fd));
    if (errno != EEXIST) return fail(io_error(errno, "cannot be created"));
  }
}

TemporaryFile::~TemporaryFile() {
  if (!temporary_.empty()) ::unlinkat(directory_->fd(), temporary_.c_str(), 0);
}

Status TemporaryFile::write(const dataset::Pieces& pieces, std::uint64_t offset) {
  return write_pieces(pieces, "cannot be written", [&](const ::iovec* vectors, int count) {
    const ssize_t done = ::pwritev(fd_.get(), vectors, count, static_cast<off_t>(offset));
    if (done > 0) offset += static_cast<std::uint64_t>(done);
    return done;
  });
}

Status TemporaryFile::rename_to(const std::string& name) {
  return put_in_place(*directory_, std::exchange(temporary_, {}), name);
}

bool is_whole(const CopyDirectory& directory, const std::string& name, const tree::NodeStat& stat,
              const std::timespec& source_changed) {
  struct stat there = {};
  if (::fstatat(directory.fd(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return S_ISREG(there.st_mode) && static_cast<std::uint64_t>(there.st_size) == stat.size &&
         there.st_mtim.tv_sec == stat.mtime && there.st_mtim.tv_nsec == 0 &&
         later(there.st_ctim, source_changed);
}

Status link_file(const CopyDirectory& top, const std::string& first, const CopyDirectory& directory,
                 const std::string& name) {
  struct stat one = {}, other = {};
  if (::fstatat(top.fd(), first.c_str(), &one, AT_SYMLINK_NOFOLLOW) == 0 &&
      ::fstatat(directory.fd(), name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
      one.st_ino == other.st_ino && one.st_dev == other.st_dev)
    return {};  // rename would do nothing, and leave the temporary name
  const std::string temporary = CopyDirectory::temporary_name(name);
  if (::linkat(top.fd(), first.c_str(), directory.fd(), temporary.c_str(), 0) != 0)
    return fail(io_error(errno, "cannot be linked to " + first));
  return put_in_place(directory, temporary, name);
}

Status copy_symlink(const CopyDirectory& directory, const std::string& name, const std::string& target,
                    const tree::NodeStat& stat) {
  const std::string temporary = CopyDirectory::temporary_name(name);
  if (::symlinkat(target.c_str(), directory.fd(), temporary.c_str()) != 0)
    return fail(io_error(errno, "cannot be created"));
  const auto [access, change] = file_times(stat);
  const std::array<std::timespec, 2> times{access, change};
  // As far as the file system lets them be set.
  ::utimensat(directory.fd(), temporary.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
  if (::fchownat(directory.fd(), temporary.c_str(), stat.uid, stat.gid, AT_SYMLINK_NOFOLLOW) != 0 &&
      errno != EPERM) {
    const int reason = errno;
    ::unlinkat(directory.fd(), temporary.c_str(), 0);
    return fail(io_error(reason, "the owner cannot be set"));
  }
  return put_in_place(directory, temporary, name);
}

}  // namespace h5mount::front
