// The texts of --help and --version.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// The help on one screen: every command, and the name of every option.
std::string help_text();

// The description of one option or command, by its name with or without dashes, or as after -o. Fails with
// InvalidValue if there is none of that name.
Result<std::string> help_about(std::string_view name);

// The program's version, libfuse's and the kernel's, and the filters built in.
std::string version_text();

}  // namespace h5mount::cli
