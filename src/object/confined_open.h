// Opens files by names that another file contains: beneath one directory or anywhere, but never through a
// mount of h5mount.
//
// Reading a source through a mount of this process would deadlock: the process would wait for itself. So the
// type of every mount that a path enters is checked first: the kernel answers for the root of a mount without
// a request to the file system mounted there.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::object {

// File system types, as in /proc/self/mountinfo, whose mounts no path may enter.
using RefusedTypes = std::vector<std::string>;

// A directory held open (O_PATH), so that renaming it later has no effect.
class ConfinedDirectory {
 public:
  static Result<ConfinedDirectory> open(const std::string& path);
  ConfinedDirectory() = default;

  // Opens `relative` for reading. Symlinks and ".." are resolved as long as the result is beneath the
  // directory. Other file systems mounted beneath are entered only by a path without symlinks and "..".
  // Errors: AccessDenied, NotFound, Io.
  Result<UniqueFd> open_file(const std::string& relative, const RefusedTypes& refused) const;
  // The same, following no symlink at all.
  Result<UniqueFd> open_plain_file(const std::string& relative, const RefusedTypes& refused) const;

 private:
  Result<UniqueFd> open_beneath(const std::string& relative, std::uint64_t resolve,
                                const RefusedTypes& refused) const;
  Result<UniqueFd> walk(const std::string& relative, const RefusedTypes& refused) const;
  UniqueFd fd_;
};

// Opens a name given by the user, without blocking and without acquiring a controlling terminal.
Result<UniqueFd> open_anywhere(const std::string& path);

// Resolves an absolute path to an O_PATH descriptor, which identifies the file but cannot be read.
Result<UniqueFd> resolve_path_anywhere(const std::string& path, const RefusedTypes& refused);
// Opens the file of an O_PATH descriptor for reading.
Result<UniqueFd> open_resolved(const UniqueFd& resolved, const std::string& name);
// The path of an open file, without symlinks; empty where the kernel does not know it.
std::string real_path_of(const UniqueFd& fd);

}  // namespace h5mount::object
