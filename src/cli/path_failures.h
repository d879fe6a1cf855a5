// What could not be read at the paths of a command without a mount.
#pragma once

#include <memory>
#include <string>

#include "h5mount/front/commands.h"

namespace h5mount::cli {

// Prints "h5mount: FILE: /PATH: words" and, for the first few errors, a hint; sets `any`. `file`: the source
// as the user named it. Keeps references to the arguments.
front::FailureHandler failure_handler(const std::shared_ptr<tree::Tree>& tree, const std::string& file,
                                      bool& any);

}  // namespace h5mount::cli
