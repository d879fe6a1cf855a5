// The file a user names: one file, or a set of files joined (family, multi, split).
#pragma once

#include <string>

#include "h5mount/io/byte_source.h"
#include "h5mount/io/drivers.h"

namespace h5mount::object {

// A name that the user typed, or that follows from what he typed by libhdf5's rules alone, is opened freely.
// A name that stands in the first member, or that only its content makes a member, is not the user's: it is
// opened under the policy for names that files hold.
struct MemberOpeners {
  io::OpenMember typed;
  io::OpenMember found;
};

// `path`: a file; a family's pattern ("run-%05d.h5"); a multi or split file's common name (without "-s.h5",
// "-m.h5"); or the first member of any of them, then its members are looked for beside it and, where it is a
// symlink, beside what that leads to. A file of that very name wins over a set. A member that may not be
// opened (AccessDenied) leaves a hole in which reads are refused, and a warning in the log that says how to
// name the set.
Result<std::shared_ptr<io::ByteSource>> open_named_files(const std::string& path, const MemberOpeners& open);

}  // namespace h5mount::object
