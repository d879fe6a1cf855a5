// What h5mount says of itself.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// One screen: every command, and the name of every option.
std::string help_text();

// What one option or command is, by its name with or without dashes, or after -o. InvalidValue: there is
// none.
Result<std::string> help_about(std::string_view name);

// The program's version, libfuse's and the kernel's, and the filters built in.
std::string version_text();

}  // namespace h5mount::cli
