// The nodes of a file's own tree: groups, datasets, committed datatypes, symlinks, and objects that cannot be
// opened.
#pragma once

#include "../core/node.h"
#include "group_contents.h"

namespace h5mount::tree {

// The directory of a file's root group. `hidden`: /.h5, for the mounted file only, else null.
NodePtr make_root_node(ServedFilePtr file, NodePtr hidden);

// A symlink; the key's address is that of its group.
NodePtr make_symlink_node(NodeKey key, ServedFilePtr file, std::string text);

}  // namespace h5mount::tree
