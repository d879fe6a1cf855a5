// The virtual directory /.h5 beside the file's own tree: reachable but not listed.
//
// To add a directory: one file with its node classes and a make_*_directory function in the folder that it
// belongs to, one entry of the table in hidden_root.cpp, one line of docs/promise.md with its test. Views of
// datasets as computed files have a table of their own (h5mount/view/view.h).
#pragma once

#include "views/virtual_nodes.h"

namespace h5mount::tree {

NodePtr make_hidden_root(const VirtualDirectorySetup& setup);

}  // namespace h5mount::tree
