#include "hidden_root.h"

#include <algorithm>
#include <array>

#include "objects/object_nodes.h"
#include "views/view_nodes.h"
#include "views/virtual_directories.h"
#include "zarr/zarr_directory.h"

namespace h5mount::tree {

namespace {

// The files that external links lead to.
NodePtr make_external_directory(const VirtualDirectorySetup& setup) {
  return make_external_directory(setup.context, "external",
                                 [](ServedFilePtr file) { return make_root_node(std::move(file), nullptr); });
}

struct VirtualDirectory {
  std::string_view name;
  NodePtr (*make)(const VirtualDirectorySetup& setup);  // null: this mount does not have it
};

constexpr std::array kVirtualDirectories = {
    VirtualDirectory{"README", make_readme_file},
    VirtualDirectory{"attributes", make_attributes_directory},
    VirtualDirectory{"external", make_external_directory},
    VirtualDirectory{"fields", make_fields_directory},
    VirtualDirectory{"list.txt", make_list_file},
    VirtualDirectory{"log", make_log_file},
    VirtualDirectory{"plain.zarr", make_plain_zarr_directory},
    VirtualDirectory{"metadata.jsonl", make_metadata_file},
    VirtualDirectory{"slice", make_slice_directory},
    VirtualDirectory{"sparse", make_sparse_directory},
    VirtualDirectory{"status", make_status_file},
    VirtualDirectory{"stored.zarr", make_stored_zarr_directory},
    VirtualDirectory{"v3.zarr", make_zarr3_directory},
};

}  // namespace

NodePtr make_hidden_root(const VirtualDirectorySetup& setup) {
  std::vector<std::pair<std::string, NodePtr>> entries;
  for (const VirtualDirectory& directory : kVirtualDirectories)
    if (NodePtr made = directory.make(setup)) entries.emplace_back(directory.name, std::move(made));
  for (const view::View& view : view::views())
    if (!view.directory.empty()) entries.emplace_back(view.directory, make_view_directory(setup, view));
  std::ranges::sort(entries, {}, &std::pair<std::string, NodePtr>::first);
  return make_fixed_directory(setup.context, "", std::move(entries));
}

}  // namespace h5mount::tree
