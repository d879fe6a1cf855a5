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

}  // namespace h5mount::fuse
