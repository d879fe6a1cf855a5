// The end of a mount whose requests do not end: a worker may wait for a source that hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace h5mount::cli {

// Takes the mount out of the tree; whoever waits for it, or has a file of it open, gets an error.
void detach_mount(const std::string& mountpoint);

// Where the process still runs after `grace`, the mount is taken out of the tree unless it was `unmounted`,
// what waits for it gets an error, and the process ends. Returns at once, also where there is no memory left.
void end_within(const std::string& mountpoint, std::chrono::milliseconds grace,
                const std::shared_ptr<const std::atomic<bool>>& unmounted);

}  // namespace h5mount::cli
