// A mount point that the program makes for one mount, and removes after it.
#pragma once

#include <string>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::cli {

class MadeMountpoint {
 public:
  // Makes the directory. An empty directory that is there is taken, and not removed; anything else is an
  // error.
  static Result<MadeMountpoint> make(const std::string& path);
  MadeMountpoint() = default;
  MadeMountpoint(MadeMountpoint&&) = default;
  MadeMountpoint& operator=(MadeMountpoint&& other) noexcept;
  MadeMountpoint(const MadeMountpoint&) = delete;
  MadeMountpoint& operator=(const MadeMountpoint&) = delete;
  // Removes it if it was made: nothing may be mounted on it any more.
  ~MadeMountpoint();

  // To be called before rights are dropped with which the directory was made: where they will be needed to
  // remove it, a process that keeps them waits for the end of this one. There are no threads yet.
  Status keep_rights();

 private:
  UniqueFd parent_;   // the directory that it is in; none: it was not made
  std::string name_;  // in that
  UniqueFd alive_;    // closed at the end of this process, for the one that removes it
};

}  // namespace h5mount::cli
