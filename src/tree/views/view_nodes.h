// The nodes of view files: directories under /.h5 that mirror the tree with a computed file for each dataset.
#pragma once

#include <memory>

#include "../core/node.h"
#include "view_image.h"
#include "virtual_nodes.h"

namespace h5mount::tree {

// The directory of a view: every dataset that it can show, with the view's suffix.
NodePtr make_view_directory(const VirtualDirectorySetup& setup, const view::View& view);

// /.h5/slice and /.h5/fields: selections of datasets, and members of compound ones.
NodePtr make_slice_directory(const VirtualDirectorySetup& setup);
NodePtr make_fields_directory(const VirtualDirectorySetup& setup);

// A view file. `name` distinguishes it from other views of the object at `address`.
NodePtr make_view_file(const ServedFilePtr& file, std::uint64_t address, std::string name,
                       std::shared_ptr<ViewedData> own, ViewOf of);
NodePtr make_view_file(const ServedFilePtr& file, std::uint64_t address, std::string name,
                       SharedDataset shared, ViewOf of);

}  // namespace h5mount::tree
