// Ends a mount whose requests do not end: a worker may wait for a source that hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace h5mount::cli {

// Removes the mount from the file system tree; a process that waits for it, or has one of its files open,
// gets an error.
void detach_mount(const std::string& mountpoint);

// If the process still runs after `grace`, the mount is removed from the file system tree (unless it was
// `unmounted`), everything that waits for it gets an error, and the process ends. Returns at once, also if
// there is no memory left.
void end_within(const std::string& mountpoint, std::chrono::milliseconds grace,
                const std::shared_ptr<const std::atomic<bool>>& unmounted);

}  // namespace h5mount::cli
