#include "made_mountpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace h5mount::cli {
namespace {

// Reads until the last writer of the pipe is gone, then removes the directory. The mount may end a moment
// after its process.
[[noreturn]] void remove_at_the_end(int pipe, int parent, const char* name) {
  constexpr unsigned kAttempts = 100;
  constexpr useconds_t kPause = 50'000;
  ::setsid();
  (void)!::chdir("/");
  for (const int ending : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(ending, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  char none = 0;
  while (::read(pipe, &none, 1) < 0 && errno == EINTR) {
  }
  for (unsigned attempt = 0; attempt < kAttempts && ::unlinkat(parent, name, AT_REMOVEDIR) != 0; ++attempt) {
    if (errno != EBUSY) break;
    ::usleep(kPause);
  }
  ::_exit(0);
}

}  // namespace

Result<MadeMountpoint> MadeMountpoint::make(const std::string& path) {
  const std::filesystem::path place(path);
  if (::mkdir(path.c_str(), 0755) == 0) {
    MadeMountpoint out;
    out.name_ = place.filename().string();
    out.parent_ = UniqueFd(::open(place.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return out;
  }
  const int why = errno;
  std::error_code none;
  if (why == EEXIST && std::filesystem::is_directory(path, none) && std::filesystem::is_empty(path, none) &&
      !none)
    return MadeMountpoint();
  const std::string words = why == EEXIST ? "is there, and is no empty directory" : std::strerror(why);
  return fail({ErrorCode::Io, fmt::format("the mount point {} cannot be made: it {}; name a MOUNTPOINT", path,
                                          why == EEXIST ? words : "failed: " + words)});
}

MadeMountpoint& MadeMountpoint::operator=(MadeMountpoint&& other) noexcept {
  std::swap(parent_, other.parent_);
  std::swap(name_, other.name_);
  std::swap(alive_, other.alive_);
  return *this;
}

MadeMountpoint::~MadeMountpoint() {
  if (parent_ && !alive_) ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

Status MadeMountpoint::keep_rights() {
  struct stat above = {};
  if (!parent_ || ::geteuid() != 0 || ::fstat(parent_.get(), &above) != 0 || above.st_uid == 0) return {};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(io_error(errno, "a pipe"));
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(io_error(errno, "fork"));
  if (child == 0) {
    write_end.reset();
    remove_at_the_end(read_end.get(), parent_.get(), name_.c_str());
  }
  alive_ = std::move(write_end);
  return {};
}

}  // namespace h5mount::cli
