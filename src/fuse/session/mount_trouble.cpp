#include "mount_trouble.h"

#include <fcntl.h>
#include <fuse_log.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "h5mount/base/log.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kMaxMessageBytes = 4096;

void to_log(fuse_log_level level, const char* format, std::va_list arguments) {
  std::array<char, kMaxMessageBytes> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  if (level == FUSE_LOG_DEBUG) {  // enabled by -d; arrives in parts of lines
    std::fputs(text.data(), stderr);
    return;
  }
  std::string_view line = text.data();
  while (line.ends_with('\n')) line.remove_suffix(1);
  log_line(level <= FUSE_LOG_ERR ? LogLevel::Error : LogLevel::Warning, line);
}

void to_stderr(fuse_log_level /*level*/, const char* format, std::va_list arguments) {
  std::vfprintf(stderr, format, arguments);
}

std::string first_line(std::string_view text) {
  for (const std::string_view speaker : {"fusermount3: ", "fuse: ", "mount: "}) {
    if (text.starts_with(speaker)) text.remove_prefix(speaker.size());
  }
  return std::string(text.substr(0, text.find('\n')));
}

struct Cure {
  std::string_view said;
  std::string_view cure;
};

// Matched against the messages of libfuse 3 and fusermount3, which are not translated. The first match
// counts.
constexpr Cure kCures[] = {
    {"user_allow_other", "add the line user_allow_other to it, or mount without allow_other"},
    {"no write access to mountpoint", "mount on a directory of your own"},
    {"exec fusermount", "install fusermount3 (package fuse3), or mount as root"},
    {"too many FUSE filesystems", "or end some"},
    {"Operation not permitted",
     "in a container: start it with --device /dev/fuse --cap-add SYS_ADMIN, and --security-opt "
     "apparmor=unconfined where AppArmor is on; elsewhere: fusermount3 must be setuid root"},
    {"Permission denied", "a security module (SELinux, AppArmor) forbids it; see the kernel's log"},
};

}  // namespace

std::string with_cure(std::string said) {
  for (const Cure& known : kCures) {
    if (said.find(known.said) != std::string::npos) return said.append(" (").append(known.cure).append(")");
  }
  return said;
}

CaughtMessages::CaughtMessages() {
  fuse_set_log_func(to_stderr);
  memory_ = UniqueFd(::memfd_create("messages", MFD_CLOEXEC));
  if (!memory_) return;
  std::fflush(stderr);
  saved_stderr_ = UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  if (saved_stderr_) ::dup2(memory_.get(), STDERR_FILENO);
}

CaughtMessages::~CaughtMessages() {
  finish();
}

std::string CaughtMessages::finish() {
  if (saved_stderr_) {
    std::fflush(stderr);
    ::dup2(saved_stderr_.get(), STDERR_FILENO);
    saved_stderr_.reset();
  }
  if (!memory_) return {};
  std::array<char, kMaxMessageBytes> text{};
  const ssize_t length = ::pread(memory_.get(), text.data(), text.size(), 0);
  memory_.reset();
  return length > 0 ? first_line({text.data(), static_cast<std::size_t>(length)}) : std::string();
}

void log_libfuse_messages() {
  fuse_set_log_func(to_log);
}

}  // namespace h5mount::fuse
