// What a file that is not HDF5 is instead, and how its data can be had: told in place of "not an HDF5 file".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace h5mount::cli {

// `head`: the first bytes of the file (1 KiB is enough). Nothing where it is no format of the table.
std::optional<std::string> foreign_format(std::string_view head);

// The same for a file by its path: also an empty one, and one that holds only zeros at its beginning.
std::optional<std::string> foreign_file(const std::string& path);

}  // namespace h5mount::cli
