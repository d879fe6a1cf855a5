// Whether a mount of this process answers, found out without a thread of it waiting for an answer.
//
// A thread that waits for its own process to reply cannot be killed: SIGKILL ends the threads that would
// reply, and the kernel gives up the request only when the last descriptor of the session is closed, which
// the waiting thread keeps open. So another process asks, which has none. Threads: any.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace h5mount::fuse {

// True when a stat of the mount point has come back; false where it fails, as it does once the mount is gone.
// `session`: the descriptor of the FUSE session.
bool mount_answers(const std::string& mountpoint, int session);

// The device number of what is mounted there; asks the kernel alone.
std::optional<dev_t> device_of_mount(const std::string& mountpoint);

}  // namespace h5mount::fuse
