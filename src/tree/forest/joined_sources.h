// The files of a forest as one: the entry `joined` of its directory /.h5. Threads: any.
#pragma once

#include "h5mount/join/joined_file.h"
#include "h5mount/tree/forest.h"

namespace h5mount::tree {

// A directory with one entry, `joined`, which is the made file. `options` must outlive it.
ForestDirectoryPtr make_joined_directory(ForestDirectoryPtr top, const ForestOptions& options,
                                         join::JoinedFilePtr joined);

}  // namespace h5mount::tree
