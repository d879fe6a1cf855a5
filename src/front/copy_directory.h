// A directory that is being copied into, and the names in it.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/base/unique_fd.h"
#include "h5mount/front/commands.h"

namespace h5mount::front {

using Xattrs = std::vector<std::pair<std::string, std::string>>;

class CopyDirectory;
using CopyDirectoryPtr = std::shared_ptr<CopyDirectory>;

// Mode and times are set by the destructor: whatever is copied into it holds a pointer to it, and each
// directory one to that above. Threads: any.
class CopyDirectory {
 public:
  // An existing directory that stays as it is.
  static Result<CopyDirectoryPtr> open(const std::string& path);
  // The directory at `path`, made where it is not there; a symlink to one is followed.
  static Result<CopyDirectoryPtr> make_top(const std::string& path, const tree::NodeStat& stat);
  // The directory `name` in `parent`, made where it is not there. Errors: something else is in the way.
  static Result<CopyDirectoryPtr> make(const CopyDirectoryPtr& parent, const std::string& name,
                                       const tree::NodeStat& stat);
  ~CopyDirectory();
  CopyDirectory(const CopyDirectory&) = delete;
  CopyDirectory& operator=(const CopyDirectory&) = delete;

  int fd() const { return fd_.get(); }

  // Removes what a killed copy left: of the file `name`, or where that is empty of all.
  Status remove_leftovers(const std::string& name) const;
  // A name under which `name` is written; another one each time.
  static std::string temporary_name(const std::string& name);

 private:
  explicit CopyDirectory(UniqueFd fd) : fd_(std::move(fd)) {}

  Status take_over(bool made, const tree::NodeStat& stat);

  UniqueFd fd_;
  CopyDirectoryPtr parent_;
  std::optional<tree::NodeStat> stat_;  // set at the end
};

// The owner, as far as this user may set it, the mode and the times of an open file or directory.
Status set_status(int fd, const tree::NodeStat& stat);
// The number of attributes that the file system did not take.
std::size_t set_xattrs(int fd, const Xattrs& xattrs);
// Access and modification time, both.
std::pair<std::timespec, std::timespec> file_times(const tree::NodeStat& stat);

}  // namespace h5mount::front
