// A file with every kind of group, attribute list, heap and chunk index, for `written_with_h5py`.
#pragma once

#include "support/h5py_file.h"
#include "test_paths.h"

namespace h5mount::test {

// With `latest` links and attributes are dense. With `earliest` they are in symbol tables and version 1
// headers, and all chunk indexes are version 1 B-trees.
inline constexpr const char* kEveryIndex =
    "sys.dont_write_bytecode = True\n"
    "sys.path.insert(0, '" H5MOUNT_SOURCE_ROOT
    "/tests/support/fixtures')\n"
    "from every_index import write\n"
    "write(f)\n";

}  // namespace h5mount::test
