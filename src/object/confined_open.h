// Opening names that a file holds: beneath one directory, or anywhere, but never through a mount of h5mount.
//
// A source on a mount of ours would be read by asking the very process that waits for it. So every mount that
// a path enters is looked at before anything in it is: the kernel answers for the root of a mount without
// asking the file system that is mounted there.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::object {

// File system types, as /proc/self/mountinfo names them, that no path may enter.
using RefusedTypes = std::vector<std::string>;

// A directory held open (O_PATH), so that what it is renamed to later does not matter.
class ConfinedDirectory {
 public:
  static Result<ConfinedDirectory> open(const std::string& path);
  ConfinedDirectory() = default;

  // A descriptor for `relative`, wherever symlinks and ".." lead as long as it is beneath. Into other file
  // systems that are mounted beneath only by a path without symlinks and "..". Errors: AccessDenied,
  // NotFound, Io.
  Result<UniqueFd> open_file(const std::string& relative, const RefusedTypes& refused) const;
  // The same, following no symlink at all.
  Result<UniqueFd> open_plain_file(const std::string& relative, const RefusedTypes& refused) const;

 private:
  Result<UniqueFd> open_beneath(const std::string& relative, std::uint64_t resolve,
                                const RefusedTypes& refused) const;
  Result<UniqueFd> walk(const std::string& relative, const RefusedTypes& refused) const;
  UniqueFd fd_;
};

// A name that the user gave: an ordinary open, never blocking, never of a controlling terminal.
Result<UniqueFd> open_anywhere(const std::string& path);

// What an absolute path leads to, wherever that is: a descriptor that can be asked where it lies, but not
// read (O_PATH).
Result<UniqueFd> resolve_path_anywhere(const std::string& path, const RefusedTypes& refused);
// A descriptor for reading what an O_PATH descriptor stands for.
Result<UniqueFd> open_resolved(const UniqueFd& resolved, const std::string& name);
// The path of what is open, without symlinks; empty where the kernel cannot tell.
std::string real_path_of(const UniqueFd& fd);

}  // namespace h5mount::object
