// The directory of a Zarr store under /.h5: the file's groups and datasets as Zarr's groups and arrays.
#pragma once

#include "../views/virtual_nodes.h"
#include "h5mount/view/zarr.h"

namespace h5mount::tree {

NodePtr make_zarr_directory(const VirtualDirectorySetup& setup, const view::ZarrStore& store);

}  // namespace h5mount::tree
