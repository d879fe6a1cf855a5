#include "copy_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "write_pieces.h"

namespace h5mount::front {
namespace {

// The directory or file at `path` below `top`, opened only to identify it, name by name, as paths may be
// longer than the system accepts at once.
Result<UniqueFd> find_beneath(const CopyDirectory& top, std::string_view path) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd at;
  while (true) {
    const std::size_t end = path.find('/');
    const bool last = end == std::string_view::npos;
    const std::string name(path.substr(0, end));
    UniqueFd next(::openat(at ? at.get() : top.fd(), name.c_str(), last ? kFlags : kFlags | O_DIRECTORY));
    if (!next) return fail(io_error(errno, "its first copy cannot be found"));
    at = std::move(next);
    if (last) return at;
    path.remove_prefix(end + 1);
  }
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

Status link_file(const CopyDirectory& top, const std::string& path, const FileIdentity& first,
                 const CopyDirectory& directory, const std::string& name) {
  struct stat there = {};
  if (::fstatat(directory.fd(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      identity_of(there) == first)
    return {};  // rename would do nothing, and leave the temporary name
  H5_ASSIGN(const UniqueFd fd, find_beneath(top, path));
  if (::fstat(fd.get(), &there) != 0 || identity_of(there) != first)
    return fail(Error(ErrorCode::Stale, "another file has taken the place of its first copy, " + path));
  const std::string temporary = CopyDirectory::temporary_name(name);
  // AT_EMPTY_PATH would need rights that users do not have.
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  if (::linkat(AT_FDCWD, link.c_str(), directory.fd(), temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return fail(io_error(errno, "cannot be linked to " + path));
  return put_in_place(directory, temporary, name);
}

Status copy_symlink(const CopyDirectory& directory, const std::string& name, const std::string& target,
                    const tree::NodeStat& stat) {
  const std::string temporary = CopyDirectory::temporary_name(name);
  if (::symlinkat(target.c_str(), directory.fd(), temporary.c_str()) != 0)
    return fail(io_error(errno, "cannot be created"));
  // Errors are ignored: not every file system lets the times of a symlink be set.
  ::utimensat(directory.fd(), temporary.c_str(), file_times(stat).data(), AT_SYMLINK_NOFOLLOW);
  if (::fchownat(directory.fd(), temporary.c_str(), stat.uid, stat.gid, AT_SYMLINK_NOFOLLOW) != 0 &&
      errno != EPERM) {
    const int reason = errno;
    ::unlinkat(directory.fd(), temporary.c_str(), 0);
    return fail(io_error(reason, "the owner cannot be set"));
  }
  return put_in_place(directory, temporary, name);
}

}  // namespace h5mount::front
