// Mounts by the program fusermount3, where this process can open no /dev/fuse. In a pod that is a proxy,
// which gets the descriptor from a side car that may mount; elsewhere it is libfuse's own, with rights of its
// own.
//
// It is asked once more to unmount when the object ends, or the process does for whatever reason: a child
// waits for that, which must be started before programs are refused. Threads: one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {

// Where fusermount3 is; nothing where there is none in PATH.
std::optional<std::string> find_fusermount();

class FusermountMount {
 public:
  // Mounts. `options` are separated by commas, escaped by backslashes; the error says what became of the
  // program, whose own words are on stderr.
  Status begin(const std::string& program, const std::string& mountpoint, const std::string& options);
  ~FusermountMount() { end(); }
  FusermountMount() = default;
  FusermountMount(const FusermountMount&) = delete;
  FusermountMount& operator=(const FusermountMount&) = delete;

  bool mounted() const { return child_ > 0; }
  // The descriptor of the session, once: who takes it closes it.
  int take_descriptor() { return device_.release(); }
  // Unmounts; to be called once the descriptor is closed.
  void end();

 private:
  Status start_child(const std::string& program, const std::string& mountpoint);

  UniqueFd device_, socket_, alive_;
  pid_t child_ = -1;
};

}  // namespace h5mount::fuse
