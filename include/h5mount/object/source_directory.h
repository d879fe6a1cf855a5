// SourceDirectory: a directory of sources, held open. Names below it are resolved without following a
// symlink, so nothing outside is reached, whatever is renamed or replaced meanwhile; the target of a symlink
// is found by resolving its text. Mounts of h5mount are never entered.
//
// `directory` and `relative` are paths below it without symlinks, `.` and `..`; empty: the directory itself.
// Errors: NotFound, AccessDenied, Io; Stale if the directory itself is gone. Threads: any.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/io/byte_source.h"
#include "h5mount/object/external_access.h"

namespace h5mount::object {

// An entry of a directory, without following a symlink.
struct SourceEntry {
  enum class Kind : std::uint8_t { Directory, File, Symlink, Other };
  Kind kind = Kind::Other;
  FileAttributes attributes;
  std::uint64_t size = 0;       // bytes
  std::uint64_t blocks = 0;     // of 512 bytes
  std::uint64_t hard_link = 0;  // equal for all names of a file that has several; 0 if it has one
  std::uint64_t identity = 0;   // as long as it is the same, the name leads to the same file
  std::int64_t modified = 0;    // nanoseconds since 1970
  std::uint64_t stamp = 0;      // differs after every change of the file or of its attributes
};

class SourceDirectory {
 public:
  // `path` may lead through symlinks. `refused_types`: the types of mounts that are refused, as in
  // ExternalAccess.
  static Result<std::shared_ptr<const SourceDirectory>> open(const std::string& path,
                                                             std::vector<std::string> refused_types);

  const std::string& path() const { return path_; }  // absolute, without symlinks

  // The entry `name` of a directory; for an empty name the directory itself.
  Result<SourceEntry> stat_entry(std::string_view directory, const std::string& name) const;
  // Visits every name but `.` and `..`, with the kind that the directory itself tells; Other if it does not.
  using Visit = std::function<void(std::string_view name, SourceEntry::Kind kind)>;
  Status for_each(std::string_view directory, const Visit& visit) const;

  Result<std::string> read_link(std::string_view directory, const std::string& name) const;
  // The path below this directory, without symlinks, that `target` leads to from `directory`, as the kernel
  // would resolve it. Fails with AccessDenied if it leads out of this directory, and with Io (ELOOP) if it
  // leads in a circle.
  Result<std::string> resolve(std::string_view directory, std::string_view target) const;

  // Opens a regular file; a FIFO or a device is never opened.
  Result<UniqueFd> open_file(std::string_view relative) const;
  Result<std::shared_ptr<io::ByteSource>> open_source(std::string_view relative) const;
  Result<UniqueFd> open_directory(std::string_view relative) const;  // with O_PATH

 private:
  struct Opened {
    UniqueFd fd;
    std::uint64_t mount = 0;
  };
  using OpenedPtr = std::shared_ptr<const Opened>;
  using Clock = std::chrono::steady_clock;

  SourceDirectory(UniqueFd fd, std::string path, std::string named, std::vector<std::string> refused_types);
  Result<OpenedPtr> opened(std::string_view directory) const;
  Result<SourceEntry> stat_in(const Opened& directory, const std::string& name) const;

  const UniqueFd fd_;
  const std::string path_, named_;  // without symlinks, and as the user wrote it
  const std::vector<std::string> refused_types_;
  // The directories used last, kept open for a moment: a client that lists a directory looks at all of its
  // entries.
  struct Recent {
    std::string directory;
    OpenedPtr opened;
    Clock::time_point until;
  };
  mutable Mutex mutex_;
  mutable std::array<Recent, 8> recent_ H5_GUARDED_BY(mutex_);
  mutable std::size_t next_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace h5mount::object
