// --copy as a terminal sees it: its progress, and the signals that end it.
#pragma once

#include "command_line.h"
#include "h5mount/front/copy.h"

namespace h5mount::cli {

// Raises the signal that interrupted it, once what was half written is removed.
Status run_copy(const FrontCommand& command, const std::shared_ptr<tree::Tree>& tree,
                const front::FailureHandler& failed);

}  // namespace h5mount::cli
