// Captures the messages that libfuse and fusermount3 print while mounting, so that the user gets one line
// instead of three.
#pragma once

#include <string>

#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {

// While it exists, stderr and libfuse's own messages go into memory. Only one at a time, before there are
// threads.
class CaughtMessages {
 public:
  CaughtMessages();
  ~CaughtMessages();

  // Restores stderr; returns the first line captured, without the program's name.
  std::string finish();

 private:
  UniqueFd memory_, saved_stderr_;
};

// Adds a known remedy to a message.
std::string with_cure(std::string said);

// Sends libfuse's messages to our log from now on.
void log_libfuse_messages();

}  // namespace h5mount::fuse
