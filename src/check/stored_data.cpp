#include "stored_data.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

namespace h5mount::check {

// The open file is opened once more, as the position of its own descriptor belongs to others.
StoredData::StoredData(const metadata::FileMetadata& file) : base_address_(file.base_address()) {
  const std::vector<std::string> paths = file.source()->state().watchable();
  if (paths.size() == 1 && paths[0].starts_with("/proc/self/fd/"))
    fd_ = UniqueFd(::open(paths[0].c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

std::uint64_t StoredData::next(std::uint64_t address) const {
  if (!fd_) return address;
  const ::off_t found = ::lseek(fd_.get(), static_cast<::off_t>(base_address_ + address), SEEK_DATA);
  if (found < 0) return errno == ENXIO ? std::numeric_limits<std::uint64_t>::max() : address;
  return static_cast<std::uint64_t>(found) - base_address_;
}

}  // namespace h5mount::check
