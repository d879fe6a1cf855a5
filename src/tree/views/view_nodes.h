// The nodes of view files: directories under /.h5 that mirror the tree with a computed file for each dataset.
#pragma once

#include <memory>

#include "../core/followed_bytes.h"
#include "virtual_nodes.h"

namespace h5mount::tree {

// The directory of a view: every dataset that it can show, with the view's suffix.
NodePtr make_view_directory(const VirtualDirectorySetup& setup, const view::View& view);

// /.h5/slice and /.h5/fields: selections of datasets, and members of compound ones.
NodePtr make_slice_directory(const VirtualDirectorySetup& setup);
NodePtr make_fields_directory(const VirtualDirectorySetup& setup);

// A view file; others may show the same data. `name` distinguishes it from other views of their object.
NodePtr make_view_file(std::shared_ptr<FollowedData> data, std::string name, ViewOf of);

}  // namespace h5mount::tree
