// --copy on a terminal: its progress, and the signals that stop it.
#pragma once

#include "h5mount/front/copy.h"
#include "h5mount/object/file_set.h"
#include "words/command_line.h"

namespace h5mount::cli {

// After an interruption removes incomplete files, then raises the signal again.
Status run_copy(const FrontCommand& command, const object::FileSet* files,
                const std::shared_ptr<tree::Tree>& tree, const front::FailureHandler& failed);

}  // namespace h5mount::cli
