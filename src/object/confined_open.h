// Opens files by names that another file contains: beneath one directory or anywhere, but never through a
// mount of h5mount.
//
// Reading a source through a mount of this process would deadlock: the process would wait for itself. So the
// type of every mount that a path enters is checked first: the kernel answers for the root of a mount without
// a request to the file system mounted there.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/io/descriptors.h"

namespace h5mount::object {

// File system types, as in /proc/self/mountinfo, whose mounts no path may enter.
using RefusedTypes = std::vector<std::string>;

inline constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// Opens `relative` beneath a directory (O_PATH) for reading. Symlinks and ".." are resolved as long as the
// result is beneath the directory. Other file systems mounted beneath are entered only by a path without
// symlinks and "..". Errors: AccessDenied, NotFound, Io.
Result<UniqueFd> open_within(const UniqueFd& directory, const std::string& relative,
                             const RefusedTypes& refused);
// The same, but to an O_PATH descriptor, which identifies the file but cannot be read.
Result<UniqueFd> resolve_within(const UniqueFd& directory, const std::string& relative,
                                const RefusedTypes& refused);
// As open_within, following no symlink at all, with these flags of open(2) (O_PATH among them). Other file
// systems mounted beneath are entered unless their type is refused.
Result<UniqueFd> open_beneath(const UniqueFd& directory, const std::string& relative, int flags,
                              const RefusedTypes& refused);
// Whether a mount, given by its number in /proc/self/mountinfo, has a refused type or an unknown one.
bool is_refused_mount(std::uint64_t mount, const RefusedTypes& refused);

// Opens a name given by the user, without blocking and without acquiring a controlling terminal.
Result<UniqueFd> open_anywhere(const std::string& path);

// Resolves an absolute path to an O_PATH descriptor, which identifies the file but cannot be read.
Result<UniqueFd> resolve_path_anywhere(const std::string& path, const RefusedTypes& refused);
// Opens the file of an O_PATH descriptor for reading.
Result<UniqueFd> open_resolved(const UniqueFd& resolved, const std::string& name);
// Retries once, after freeing descriptors, if the process had none left.
template <class Open>
Result<UniqueFd> with_descriptors(const Open& open) {
  Result<UniqueFd> fd = open();
  if (fd || fd.error().code() != ErrorCode::Io) return fd;
  if (const int why = fd.error().errno_value(); why != EMFILE && why != ENFILE) return fd;
  io::close_idle_descriptors();
  return open();
}
// The path of an open file, without symlinks; empty if the kernel does not know it.
std::string real_path_of(const UniqueFd& fd);

}  // namespace h5mount::object
