#include "h5mount/base/temporary_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace h5mount {

const char* TemporaryFile::directory() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named == '/' ? named : "/var/tmp";
}

Result<TemporaryFile> TemporaryFile::make() {
  UniqueFd file(::open(directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return TemporaryFile(std::move(file));
  std::string name = std::string(directory()) + "/h5mount-XXXXXX";  // for file systems without O_TMPFILE
  file = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return fail(io_error(errno, std::string("a spill file in ") + directory()));
  ::unlink(name.c_str());
  return TemporaryFile(std::move(file));
}

Status TemporaryFile::write_at(ByteSpan bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(io_error(n < 0 ? errno : ENOSPC, "writing a spill file"));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status TemporaryFile::read_at(MutableByteSpan bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(io_error(n < 0 ? errno : EIO, "reading a spill file"));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

std::uint64_t TemporaryFile::free_bytes() const {
  struct statvfs space{};
  return ::fstatvfs(fd_.get(), &space) == 0 ? std::uint64_t{space.f_bavail} * space.f_frsize : 0;
}

}  // namespace h5mount
