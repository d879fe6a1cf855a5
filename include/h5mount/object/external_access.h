// Which files a mounted file may name, and where they are looked for.
//
// A name is looked for as libhdf5 does: an absolute one as it is, then by its last component like a relative
// one; a relative one in the directories of the environment's prefixes, then beside the naming file as it was
// named, then beside what that name leads to where it is a symlink, then in the listed directories. (libhdf5
// also tries the working directory, which a mount has none of, and the prefixes of access property lists,
// which no file stores.)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace h5mount::object {

enum class ExternalPolicy : std::uint8_t {
  Beneath,  // files beneath the mounted file's own directory (and, where it was named through a symlink,
            // beneath the directory of what that leads to)
  Listed,   // files beneath the listed directories
  Any,
  None,
};

// What a file name is used for: each has its own prefix variable.
enum class NameUse : std::uint8_t { Link, VirtualSource, RawData };

struct ExternalAccess {
  ExternalAccess() = default;
  ExternalAccess(ExternalPolicy chosen) : policy(chosen) {}  // NOLINT(google-explicit-constructor)

  ExternalPolicy policy = ExternalPolicy::Beneath;
  std::vector<std::string> directories;  // absolute; searched and allowed, beside what `policy` allows
  // Users besides the mounter read through the mount: no file's bytes are shown as another file's whose
  // readers could not read the first, and links open only what a link named.
  bool for_others = false;
  // Mounts of these types are never entered (/proc/self/mountinfo).
  std::vector<std::string> refused_types{"fuse.h5mount"};
  // HDF5_EXT_PREFIX, HDF5_VDS_PREFIX, HDF5_EXTFILE_PREFIX: directories with ':' between them; "${ORIGIN}" at
  // the beginning of one is the naming file's directory.
  std::string link_prefixes, virtual_prefixes, raw_prefixes;

  // The prefixes from the environment.
  void take_environment();
};

// Of the file itself, when it was opened: what its nodes show.
struct FileAttributes {
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t mode = 0444;  // permission bits
  std::int64_t mtime = 0;     // seconds since 1970
};

// Whether everybody whom `shown` lets read may read `source` as well.
bool readable_by_all_readers(const FileAttributes& shown, const FileAttributes& source);

}  // namespace h5mount::object
