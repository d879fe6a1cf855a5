// The virtual directory /.h5 beside the file's own tree: reachable but not listed.
//
// To add a directory: one file with its node classes and a make_*_directory function declared here, one line
// in the table of virtual_directories.cpp, one line of docs/promise.md with its test. Views of datasets as
// computed files have a table of their own (h5mount/view/view.h).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../core/node.h"
#include "../core/served_file.h"

namespace h5mount::tree {

// The arguments of every virtual directory.
struct VirtualDirectorySetup {
  ViewContextPtr context;
  ServedFilePtr main;
};

// /.h5 itself.
NodePtr make_hidden_root(const VirtualDirectorySetup& setup);

// /.h5/attributes: a mirror of the tree in which every attribute is a text file, PATH@NAME.
NodePtr make_attributes_directory(const VirtualDirectorySetup& setup);

// /.h5/external: the files that external links lead to, opened when looked up; it lists those that links have
// named.
NodePtr make_external_directory(const VirtualDirectorySetup& setup);

// A directory of these files, whose roots `make_root` makes. `path` distinguishes it from others.
NodePtr make_external_directory(ViewContextPtr context, std::string path,
                                std::function<NodePtr(ServedFilePtr)> make_root);

// /.h5/sparse: the sparse datasets of the tree, each a directory of its lists.
NodePtr make_sparse_directory(const VirtualDirectorySetup& setup);

// /.h5/log and /.h5/status: the mount's own messages and counters. No status where no function returns its
// text.
NodePtr make_log_file(const VirtualDirectorySetup& setup);
NodePtr make_status_file(const VirtualDirectorySetup& setup);

// /.h5/plain.zarr and /.h5/stored.zarr: the file as Zarr stores of version 2, without compression, and with
// the chunks' own stored bytes. /.h5/v3.zarr: as one of version 3, without compression.
NodePtr make_plain_zarr_directory(const VirtualDirectorySetup& setup);
NodePtr make_stored_zarr_directory(const VirtualDirectorySetup& setup);
NodePtr make_zarr3_directory(const VirtualDirectorySetup& setup);

// /.h5/metadata.jsonl: the whole tree, an object of JSON a line. /.h5/list.txt: the same for people.
// /.h5/README: what there is under /.h5.
NodePtr make_metadata_file(const VirtualDirectorySetup& setup);
NodePtr make_list_file(const VirtualDirectorySetup& setup);
NodePtr make_readme_file(const VirtualDirectorySetup& setup);

// A directory of known names. `path` distinguishes it from others.
NodePtr make_fixed_directory(ViewContextPtr context, std::string path,
                             std::vector<std::pair<std::string, NodePtr>> children);

// The key and inode number of a virtual directory's own nodes.
NodeKey virtual_key(std::string path);
std::uint64_t virtual_ino(std::string_view path);

}  // namespace h5mount::tree
