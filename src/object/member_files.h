// Opens the source that a user names: one file, or a set of files (family, multi, split).
#pragma once

#include <string>

#include "h5mount/io/byte_source.h"
#include "h5mount/io/drivers.h"

namespace h5mount::object {

// A name given by the user, or derived from it by libhdf5's rules alone, is opened without confinement. A
// name from the content of the first member is opened under the policy for names in files.
struct MemberOpeners {
  io::OpenMember typed;
  io::OpenMember found;
  bool completes_sets = true;  // false: a file that is the first member of a set is opened alone
};

// `path`: a file; a family's pattern ("run-%05d.h5"); a multi or split file's common name (without "-s.h5",
// "-m.h5"); or the first member of any of them, whose other members are then searched in its directory and,
// if it is a symlink, in that of the target. A file with exactly this name takes precedence over a set. If a
// member may not be opened (AccessDenied), reads of its range fail, and a warning in the log says how to name
// the set.
Result<std::shared_ptr<io::ByteSource>> open_named_files(const std::string& path, const MemberOpeners& open);

}  // namespace h5mount::object
