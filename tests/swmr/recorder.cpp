// Preloaded into a writer: every write to the file named by SWMR_RECORD_FILE is also appended, with its
// place, to SWMR_RECORD_LOG, so that a replayer can make each state that the file went through.
//
//   record   offset (8 bytes)   length (8)   the bytes      length all ones: the file was cut to `offset`
#undef _FILE_OFFSET_BITS  // both names of each function are wanted
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

int log_fd = -1;

bool is_recorded(int fd) {
  static const char* const name = [] {
    const char* const log = std::getenv("SWMR_RECORD_LOG");
    if (log != nullptr) log_fd = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return std::getenv("SWMR_RECORD_FILE");
  }();
  if (name == nullptr || log_fd < 0 || fd == log_fd) return false;
  struct stat a{}, b{};
  return ::fstat(fd, &a) == 0 && ::stat(name, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

void note(std::uint64_t offset, std::uint64_t length, const void* bytes) {
  const std::uint64_t head[2] = {offset, length};
  (void)!::write(log_fd, head, sizeof head);
  if (length != UINT64_MAX) (void)!::write(log_fd, bytes, length);
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

ssize_t record_write(int fd, const void* bytes, size_t length, off_t offset) {
  static const auto original = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite64");
  if (is_recorded(fd)) note(static_cast<std::uint64_t>(offset), length, bytes);
  return original(fd, bytes, length, offset);
}

int record_cut(int fd, off_t length) {
  static const auto original = real<int (*)(int, off_t)>("ftruncate64");
  if (is_recorded(fd)) note(static_cast<std::uint64_t>(length), UINT64_MAX, nullptr);
  return original(fd, length);
}

}  // namespace

extern "C" {
ssize_t pwrite(int fd, const void* bytes, size_t length, off_t offset) {
  return record_write(fd, bytes, length, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t length, off64_t offset) {
  return record_write(fd, bytes, length, offset);
}
int ftruncate(int fd, off_t length) noexcept {
  return record_cut(fd, length);
}
int ftruncate64(int fd, off64_t length) noexcept {
  return record_cut(fd, length);
}
}
