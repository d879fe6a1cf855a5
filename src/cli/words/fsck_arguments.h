// The command line of fsck.h5.
#pragma once

#include <optional>
#include <string>

#include "commands.h"

namespace h5mount::cli {

// `output`: a text to print instead of a check.
Result<FsckCommand> parse_fsck_arguments(int count, const char* const* words,
                                         std::optional<std::string>& output);

}  // namespace h5mount::cli
