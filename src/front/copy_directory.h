// A directory into which a copy is written, and its temporary names.
#pragma once

#include <array>
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

// The destructor sets mode and times: every job that writes into the directory holds a pointer to it, and
// each directory one to its parent. Threads: any.
class CopyDirectory {
 public:
  // An existing directory, whose mode and times are not changed.
  static Result<CopyDirectoryPtr> open(const std::string& path);
  // The directory at `path`, created if missing; a symlink to one is followed.
  static Result<CopyDirectoryPtr> make_top(const std::string& path, const tree::NodeStat& stat);
  // The directory `name` in `parent`, created if missing. Fails if something else has that name.
  static Result<CopyDirectoryPtr> make(const CopyDirectoryPtr& parent, const std::string& name,
                                       const tree::NodeStat& stat);
  ~CopyDirectory();

  int fd() const { return fd_.get(); }

  // Removes what a killed copy left: the temporary files of the file `name` or, if it is empty, those of all
  // files.
  Status remove_leftovers(const std::string& name) const;
  // A new temporary name for writing `name`; a different one each time.
  static std::string temporary_name(const std::string& name);

 private:
  explicit CopyDirectory(UniqueFd fd) : fd_(std::move(fd)) {}

  Status take_over(bool made, const tree::NodeStat& stat);

  UniqueFd fd_;
  CopyDirectoryPtr parent_;
  std::optional<tree::NodeStat> stat_;  // set by the destructor
};

// Sets the owner, as far as this user may, the mode and the times of an open file or directory.
Status set_status(int fd, const tree::NodeStat& stat);
// The attributes that the file system did not take.
struct RefusedXattrs {
  std::vector<std::string> names;
  bool takes_none = false;  // the file system has none at all
};
RefusedXattrs set_xattrs(int fd, const Xattrs& xattrs);
// Access and modification time, as utimensat(2) takes them.
std::array<std::timespec, 2> file_times(const tree::NodeStat& stat);

}  // namespace h5mount::front
