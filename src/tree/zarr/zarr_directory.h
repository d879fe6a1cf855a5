// /.h5/plain.zarr and /.h5/stored.zarr: the file as Zarr stores of version 2, without compression, and with
// the chunks' own stored bytes. /.h5/v3.zarr: as one of version 3, without compression.
#pragma once

#include "../views/virtual_nodes.h"

namespace h5mount::tree {

NodePtr make_plain_zarr_directory(const VirtualDirectorySetup& setup);
NodePtr make_stored_zarr_directory(const VirtualDirectorySetup& setup);
NodePtr make_zarr3_directory(const VirtualDirectorySetup& setup);

}  // namespace h5mount::tree
