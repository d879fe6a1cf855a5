// What a mount for other users refuses of the files that its file names.
#pragma once

#include <optional>
#include <string>

#include "h5mount/tree/tree.h"

namespace h5mount::cli {

// The first external link or dataset of the file that names another file, as "/PATH names FILE"; nullopt if
// none is found among the first objects of the file, in little time. Opens no other file.
std::optional<std::string> first_named_file(tree::Tree& tree);

}  // namespace h5mount::cli
