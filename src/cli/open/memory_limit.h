// The memory limit under which this process runs: that of its control group (a systemd unit, a container, a
// job of a batch system) and of every group around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace h5mount::cli {

struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string file;  // that says so
};

// The least limit of all groups from this process's own up to the topmost one that can be seen, in both
// versions of control groups, wherever their file systems are mounted; nullopt if there is no limit. `root`:
// where /proc and /sys are, for tests.
std::optional<MemoryLimit> memory_limit(const std::string& root = "");

}  // namespace h5mount::cli
