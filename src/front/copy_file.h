// One file of a copy: written under a temporary name, and renamed when it is complete.
#pragma once

#include <sys/stat.h>

#include "copy_directory.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::front {

// A file under a temporary name, removed unless it was renamed.
class TemporaryFile {
 public:
  static Result<TemporaryFile> make(CopyDirectoryPtr directory, const std::string& name);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept
      : directory_(std::move(other.directory_)),
        temporary_(std::exchange(other.temporary_, {})),
        fd_(std::move(other.fd_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  int fd() const { return fd_.get(); }
  // Fails with Io, with errno, if a write failed.
  Status write(const dataset::Pieces& pieces, std::uint64_t offset);
  Status rename_to(const std::string& name);

 private:
  TemporaryFile(CopyDirectoryPtr directory, std::string temporary, UniqueFd fd)
      : directory_(std::move(directory)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

  CopyDirectoryPtr directory_;
  std::string temporary_;  // empty: renamed
  UniqueFd fd_;
};

// Identifies a file, whatever its names are.
struct FileIdentity {
  ::dev_t device = 0;
  ::ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
inline FileIdentity identity_of(const struct stat& st) {
  return {st.st_dev, st.st_ino};
}

// Makes another name for the file `first` at `path` below `top`; replaces an existing file of that name. The
// directories on the path may belong to other users meanwhile: no symlink in them is followed, and if the
// path leads to another file, that is Stale.
Status link_file(const CopyDirectory& top, const std::string& path, const FileIdentity& first,
                 const CopyDirectory& directory, const std::string& name);

Status copy_symlink(const CopyDirectory& directory, const std::string& name, const std::string& target,
                    const tree::NodeStat& stat);

}  // namespace h5mount::front
