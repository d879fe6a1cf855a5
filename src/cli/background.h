// Into the background, but only when the mount answers: the process divides before there are threads; the
// child does all the work and the parent waits for its word, so that errors come on the caller's stderr and
// the caller's exit code tells how it went.
#pragma once

#include "h5mount/base/error.h"

namespace h5mount::cli {

class Background {
 public:
  // In the child, a Background. The parent does not come back: it ends with 0 once `ready` is called in the
  // child, else with the child's exit code.
  static Result<Background> divide();

  // In the child: lets go of terminal, directory and stderr (the log goes to syslog) and sends the parent
  // home. False where the parent has been killed meanwhile: then nobody waits for this mount.
  bool ready() const;

 private:
  explicit Background(int parent) : parent_(parent) {}
  int parent_;
};

}  // namespace h5mount::cli
