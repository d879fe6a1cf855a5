// Paths of objects: in HDF5's own names, and in the names that the tree shows. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace h5mount::serve {

// The HDF5 path of an object, from the path of names that the tree shows.
std::string own_path(std::string_view shown);
// The path of names that the tree shows, from an HDF5 path.
std::string shown_path(std::string_view own);

}  // namespace h5mount::serve
