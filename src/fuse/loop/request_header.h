// The header that every request begins with.
#pragma once

#include <fuse_lowlevel.h>
#include <linux/fuse.h>

#include "wait_choice.h"

namespace h5mount::fuse {

// The thread that made the request, in the terms of WaitChoice::received.
inline pid_t client_of_request(const fuse_buf& buffer) {
  const auto* const header = static_cast<const fuse_in_header*>(buffer.mem);
  if (buffer.size < sizeof *header) return 0;
  switch (header->opcode) {
    case FUSE_FORGET:  // made by the kernel when it likes
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
      return WaitChoice::kNobody;
    default:
      return static_cast<pid_t>(header->pid);
  }
}

}  // namespace h5mount::fuse
