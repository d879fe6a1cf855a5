// The policy for files that a mounted file names (external links, raw data, virtual sources): which may be
// opened, and where they are searched.
//
// Search order, as in libhdf5: an absolute name first as it is, then by its last component like a relative
// one; a relative name in the directories of the environment's prefixes, then in the directory of the naming
// file as it was opened, then, if that name is a symlink, in the directory of its target, then in the listed
// directories. (libhdf5 also tries the working directory, which a mount does not have, and the prefixes of
// access property lists, which files do not store.)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::object {

enum class ExternalPolicy : std::uint8_t {
  Beneath,  // files beneath the mounted file's own directory (and, if it was opened through a symlink,
            // beneath the directory of the target)
  Listed,   // files beneath the listed directories
  Any,
  None,
};

// The use of a file name; each has its own prefix variable.
enum class NameUse : std::uint8_t { Link, VirtualSource, RawData };

struct ExternalAccess {
  ExternalAccess() = default;
  ExternalAccess(ExternalPolicy chosen) : policy(chosen) {}  // NOLINT(google-explicit-constructor)

  ExternalPolicy policy = ExternalPolicy::Beneath;
  std::vector<std::string> directories;  // absolute; searched and allowed in addition to `policy`
  // Other users can read through the mount (allow_other). Then a file's bytes are shown as part of another
  // file only if everyone who may read the latter may read the former, and the links' directory opens only
  // files that a link has named.
  bool for_others = false;
  // Whether the other members of a set are opened if only the first one was named and names them itself.
  bool completes_sets = true;
  // Names are never resolved through mounts of these types (/proc/self/mountinfo).
  std::vector<std::string> refused_types{"fuse.h5mount"};
  // HDF5_EXT_PREFIX, HDF5_VDS_PREFIX, HDF5_EXTFILE_PREFIX: directories separated by ':'; a leading
  // "${ORIGIN}" is the naming file's directory.
  std::string link_prefixes, virtual_prefixes, raw_prefixes;

  // Reads the prefixes from the environment.
  void read_environment();
};

// Attributes of a source file when it was opened; its nodes in the mount show them.
struct FileAttributes {
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t mode = 0444;  // permission bits
  std::int64_t mtime = 0;     // seconds since 1970
  std::uint32_t mtime_nanoseconds = 0;
};

// Whether everyone who may read `shown` may also read `source`.
bool readable_by_all_readers(const FileAttributes& shown, const FileAttributes& source);
// Why a file is not shown as part of another one.
Error fewer_readers(const std::string& source, const std::string& shown);
// Removes from a file's readers those who may not search a directory above it. `directory`: null if nothing
// is known of the directory.
void restrict_by_directory(FileAttributes& file, const FileAttributes* directory);

}  // namespace h5mount::object
