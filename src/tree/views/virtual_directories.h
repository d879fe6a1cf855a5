// The directories and files of /.h5 that are neither views of datasets (view_nodes.h) nor Zarr stores
// (zarr/zarr_directory.h): their makers, each in a file of its own. The table of all is hidden_root.cpp.
#pragma once

#include "virtual_nodes.h"

namespace h5mount::tree {

// /.h5/attributes: a mirror of the tree in which every attribute is a text file, PATH@NAME.
NodePtr make_attributes_directory(const VirtualDirectorySetup& setup);

// /.h5/sparse: the sparse datasets of the tree, each a directory of its lists.
NodePtr make_sparse_directory(const VirtualDirectorySetup& setup);

// /.h5/log and /.h5/status: the mount's own messages and counters. There is no status file if there is no
// function that returns its text.
NodePtr make_log_file(const VirtualDirectorySetup& setup);
NodePtr make_status_file(const VirtualDirectorySetup& setup);

// The log as an open file of /.h5/log has it.
std::shared_ptr<OpenNode> open_log();

// /.h5/metadata.jsonl: the whole tree, one JSON object on each line. /.h5/list.txt: the same for people.
// /.h5/README: the given text.
NodePtr make_metadata_file(const VirtualDirectorySetup& setup);
NodePtr make_list_file(const VirtualDirectorySetup& setup);
NodePtr make_readme_file(const VirtualDirectorySetup& setup, std::string text);

}  // namespace h5mount::tree
