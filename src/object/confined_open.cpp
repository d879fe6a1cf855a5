#include "confined_open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace h5mount {
namespace {

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Error open_error(int why, const std::string& name) {
  switch (why) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG: return Error(ErrorCode::NotFound, "no such file: " + name);
    case EXDEV: return Error(ErrorCode::AccessDenied, name + " leads out of the mounted file's directory");
    case ELOOP: return Error(ErrorCode::AccessDenied, name + " goes through a symlink that is not followed");
    case EACCES:
    case EPERM: return Error(ErrorCode::AccessDenied, "no permission to open " + name);
    default: return io_error(why, "opening " + name);
  }
}

}  // namespace

Result<ConfinedDirectory> ConfinedDirectory::open(const std::string& path) {
  ConfinedDirectory directory;
  directory.fd_ = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory.fd_ < 0) return fail(open_error(errno, path));
  return directory;
}

ConfinedDirectory::~ConfinedDirectory() {
  if (fd_ >= 0) ::close(fd_);
}

Result<int> ConfinedDirectory::open_file(const std::string& relative) const {
  open_how how = {};
  how.flags = static_cast<unsigned>(kFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < 16; ++tries) {  // EAGAIN: something was renamed on the way
    const long fd = ::syscall(SYS_openat2, fd_, relative.c_str(), &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    // Seccomp filters older than the call answer EPERM for it.
    if (errno == ENOSYS || errno == EPERM) return walk(relative);
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return fail(open_error(errno, relative));
}

Result<int> ConfinedDirectory::walk(const std::string& relative) const {
  int at = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  std::string_view rest = relative;
  while (at >= 0) {
    const std::size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (part == "..") {
      ::close(at);
      return fail(open_error(EXDEV, relative));
    }
    if (part.empty() && !rest.empty()) continue;
    const int flags = rest.empty() ? kFlags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    const int next = ::openat(at, part.empty() ? "." : part.c_str(), flags);
    const int why = errno;
    ::close(at);
    if (next < 0) return fail(open_error(why, relative));
    if (rest.empty()) return next;
    at = next;
  }
  return fail(open_error(errno, relative));
}

Result<int> open_anywhere(const std::string& path) {
  const int fd = ::open(path.c_str(), kFlags);
  if (fd < 0) return fail(open_error(errno, path));
  return fd;
}

}  // namespace h5mount
