// The functions that make the directories and files of /.h5, each in a source of its own. The table of all is
// hidden_root.cpp.
#pragma once

#include <functional>
#include <memory>

#include "../core/followed_bytes.h"
#include "../objects/tree_text.h"
#include "h5mount/view/zarr.h"
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

// A text about the file, which `make` appends. It is made when it is opened, and when its size is asked for.
// `name`: its path below /.h5.
using MakeTreeText = std::function<Status(const ServedFilePtr& file, TreeText& out, RequestBudget& budget)>;
NodePtr make_tree_text_file(const VirtualDirectorySetup& setup, std::string name, std::string_view media_type,
                            MakeTreeText make);

// /.h5/files.jsonl and files.parquet of a joined file: what became of each of its files; else null.
NodePtr make_joined_lines(const VirtualDirectorySetup& setup);
NodePtr make_joined_table(const VirtualDirectorySetup& setup);

// The directory of a view: every dataset that it can show, with the view's suffix, in a mirror of the tree.
NodePtr make_view_directory(const VirtualDirectorySetup& setup, const view::View& view);
// /.h5/decoded: the views of what conventions say that elements mean.
NodePtr make_decoded_directory(const VirtualDirectorySetup& setup);
// /.h5/decoded/mtx: the sparse matrices of the tree, each a directory of its files.
NodePtr make_matrix_directory(const VirtualDirectorySetup& setup);
// /.h5/refs: the elements of datasets of references as symlinks.
NodePtr make_references_directory(const VirtualDirectorySetup& setup);
// /.h5/slice and /.h5/fields: selections of datasets, and members of compound ones.
NodePtr make_slice_directory(const VirtualDirectorySetup& setup);
NodePtr make_decoded_slice_directory(const VirtualDirectorySetup& setup);
NodePtr make_fields_directory(const VirtualDirectorySetup& setup);
// A view file; others may show the same data. `name` distinguishes it from other views of their object.
NodePtr make_view_file(std::shared_ptr<FollowedData> data, std::string name, ViewOf of);
// /.h5/references.json, .parq and .icechunk; null if the mount shows no references
// (references/references.h).
NodePtr make_references_file(const VirtualDirectorySetup& setup);
NodePtr make_parquet_references(const VirtualDirectorySetup& setup);
NodePtr make_icechunk_references(const VirtualDirectorySetup& setup);
// The directory of a Zarr store: the file's groups and datasets as Zarr's groups and arrays.
NodePtr make_zarr_directory(const VirtualDirectorySetup& setup, const view::ZarrStore& store);

}  // namespace h5mount::tree
