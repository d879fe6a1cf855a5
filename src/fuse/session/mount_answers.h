// Tests whether a mount of this process answers, without a thread of this process waiting for the answer.
//
// A thread that waits for a reply of its own process cannot be killed: SIGKILL ends the threads that would
// reply, and the kernel ends the request only when the last descriptor of the session is closed, which the
// waiting thread keeps open. So the test runs in another process, which has no such descriptor. Threads: any.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace h5mount::fuse {

// True if a stat of the mount point succeeded; false if it failed, as it does once the mount is gone.
// `session`: the descriptor of the FUSE session.
bool mount_answers(const std::string& mountpoint, int session);

// The device number of the file system mounted there, determined without a request to it.
std::optional<dev_t> device_of_mount(const std::string& mountpoint);

// Raises the kernel's read-ahead of the mount with that device number, which libfuse cannot raise above the
// default of 128 KiB, if that is permitted (root, and a writable /sys). To be called after the first reply:
// the handshake resets the value.
void raise_read_ahead(dev_t device);

}  // namespace h5mount::fuse
