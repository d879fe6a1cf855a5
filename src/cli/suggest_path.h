// A hint for a path that is not in a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "h5mount/tree/tree.h"
#include "open/advice.h"

namespace h5mount::cli {

// "did you mean /group/name?", or how to list the existing names; empty if `path` exists after all. `file`:
// as the user named it. Lists one directory, of which it looks at a bounded number of names. The caller holds
// the tree's pin. `once`: of the command. Threads: one.
std::string suggest_path(const std::shared_ptr<tree::Tree>& tree, const std::string& file,
                         std::string_view path, AdviceOnce& once);

}  // namespace h5mount::cli
