// Mounts by the program fusermount3, if this process cannot open /dev/fuse. In a pod that program is a
// proxy, which gets the descriptor from a sidecar that may mount; elsewhere it is libfuse's own, which is
// setuid root.
//
// It is run once more to unmount when the object is destroyed or the process ends for whatever reason: a
// child process waits for that, and must be started before this process gives up the right to start programs.
// Threads: one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {

// Whether this process can open /dev/fuse; the error says why not, and what helps.
Status check_device();

// The path of fusermount3; nullopt if PATH has none.
std::optional<std::string> find_fusermount();

class FusermountMount {
 public:
  // Mounts. `options` are separated by commas and escaped by backslashes. The error says how the program
  // ended; the program's own messages are on stderr.
  Status begin(const std::string& program, const std::string& mountpoint, const std::string& options);
  ~FusermountMount() { end(); }

  bool mounted() const { return child_ > 0; }
  // The descriptor of the session, once: the caller has to close it.
  int take_descriptor() { return device_.release(); }
  // Unmounts; to be called once the descriptor is closed.
  void end();

 private:
  Status start_child(const std::string& program, const std::string& mountpoint);

  UniqueFd device_, socket_, alive_;
  pid_t child_ = -1;
};

}  // namespace h5mount::fuse
