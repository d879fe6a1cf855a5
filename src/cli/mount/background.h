// Runs the mount in the background, but returns only when the mount answers. The process forks before there
// are threads; the child does all the work and the parent waits for its result, so that errors reach the
// caller's stderr and the caller's exit code shows success or failure.
#pragma once

#include <utility>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::cli {

// Detaches this process from terminal, directory and stderr: the log goes to syslog.
void let_go_of_terminal();

class Background {
 public:
  // Forks. Returns a Background in the child. Does not return in the parent: it exits with 0 once the child
  // calls `ready`, else with the child's exit code.
  static Result<Background> fork_process();

  // In the child: detaches from terminal, directory and stderr (the log goes to syslog), and lets the parent
  // exit. Returns false if the parent was killed meanwhile: then nobody waits for this mount.
  bool ready() const;

 private:
  explicit Background(UniqueFd parent) : parent_(std::move(parent)) {}
  UniqueFd parent_;
};

}  // namespace h5mount::cli
