// What libfuse and fusermount3 say while mounting, caught so that the user gets one line instead of three.
#pragma once

#include <string>

namespace h5mount::fuse {

// While it lives, stderr and libfuse's own messages go into memory. One at a time, before there are threads.
class CaughtMessages {
 public:
  CaughtMessages();
  ~CaughtMessages();
  CaughtMessages(const CaughtMessages&) = delete;
  CaughtMessages& operator=(const CaughtMessages&) = delete;

  // Gives stderr back; the first line that was said, without the speaker's name.
  std::string finish();

 private:
  int memory_ = -1;
  int saved_stderr_ = -1;
};

// A message with what to do about it, where that is known.
std::string with_cure(std::string said);

// libfuse's messages into our log from now on.
void log_libfuse_messages();

}  // namespace h5mount::fuse
