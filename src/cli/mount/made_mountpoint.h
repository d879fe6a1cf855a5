// A mount point that the program makes for one mount, and removes after it.
#pragma once

#include <string>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::cli {

class MadeMountpoint {
 public:
  // Makes the directory. An empty directory that exists already is used, and not removed later; anything else
  // is an error.
  static Result<MadeMountpoint> make(const std::string& path);
  MadeMountpoint() = default;
  MadeMountpoint(MadeMountpoint&&) = default;
  MadeMountpoint& operator=(MadeMountpoint&& other) noexcept;
  MadeMountpoint(const MadeMountpoint&) = delete;
  MadeMountpoint& operator=(const MadeMountpoint&) = delete;
  // Removes the directory if it was made; by then nothing may be mounted on it.
  ~MadeMountpoint();

  // To be called before the process drops the rights with which the directory was made. If they will be
  // needed to remove it, another process that keeps them is started, which waits for the end of this one.
  // There must be no threads yet.
  Status keep_rights();

 private:
  UniqueFd parent_;   // the directory that it is in; none: it was not made
  std::string name_;  // in that
  UniqueFd alive_;    // closed at the end of this process, for the one that removes it
};

}  // namespace h5mount::cli
