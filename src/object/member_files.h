// The file a user names: one file, or a set of files joined (family, multi, split).
#pragma once

#include <string>

#include "h5mount/io/byte_source.h"
#include "h5mount/io/drivers.h"

namespace h5mount {

// `path`: a file; a family's pattern ("run-%05d.h5"); a multi or split file's common name (without "-s.h5", "-m.h5");
// or the first member of any of them. A file of that very name wins over a set.
Result<std::shared_ptr<ByteSource>> open_named_files(const std::string& path, const OpenMember& open);

}  // namespace h5mount
