// Opening names that strangers wrote, beneath one directory.
#pragma once

#include <string>

#include "h5mount/base/error.h"

namespace h5mount {

// A directory held open (O_PATH), so that what it is renamed to later does not matter.
class ConfinedDirectory {
 public:
  static Result<ConfinedDirectory> open(const std::string& path);
  ConfinedDirectory() = default;
  ~ConfinedDirectory();
  ConfinedDirectory(ConfinedDirectory&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ConfinedDirectory& operator=(ConfinedDirectory&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ConfinedDirectory(const ConfinedDirectory&) = delete;
  ConfinedDirectory& operator=(const ConfinedDirectory&) = delete;

  // A descriptor for `relative`, wherever symlinks and ".." lead as long as it is beneath. Kernels without openat2
  // get a walk that follows no symlinks and refuses "..". Errors: AccessDenied, NotFound, Io.
  Result<int> open_file(const std::string& relative) const;

 private:
  Result<int> walk(const std::string& relative) const;
  int fd_ = -1;
};

// An ordinary open with the same flags: never blocking, never a controlling terminal.
Result<int> open_anywhere(const std::string& path);

}  // namespace h5mount
