#include "h5mount/io/stored_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "h5mount/io/source_state.h"

namespace h5mount::io {

// The open file is opened once more, as the position of its own descriptor belongs to others.
StoredData::StoredData(ByteSource& source) {
  const std::vector<std::string> paths = source.state().watchable();
  if (paths.size() != 1 || !paths[0].starts_with("/proc/self/fd/")) return;
  UniqueFd fd(::open(paths[0].c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat st = {};
  if (fd && ::fstat(fd.get(), &st) == 0 && S_ISREG(st.st_mode)) fd_ = std::move(fd);
}

std::uint64_t StoredData::next(std::uint64_t offset) const {
  if (!fd_) return offset;
  const ::off_t found = ::lseek(fd_.get(), static_cast<::off_t>(offset), SEEK_DATA);
  if (found < 0) return errno == ENXIO ? std::numeric_limits<std::uint64_t>::max() : offset;
  return static_cast<std::uint64_t>(found);
}

std::uint64_t StoredData::end(std::uint64_t offset) const {
  const ::off_t found = fd_ ? ::lseek(fd_.get(), static_cast<::off_t>(offset), SEEK_HOLE) : -1;
  return found < 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(found);
}

}  // namespace h5mount::io
