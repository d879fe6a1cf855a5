// The limit of memory under which this process runs: of its control group (a systemd unit, a container, a job
// of a batch system), and of every group around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace h5mount::cli {

struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string file;  // that says so
};

// The least limit of all groups from this process's own up to the topmost one that can be seen, of both
// versions of control groups, wherever their file systems are mounted. Nothing: there is none. `root`: of the
// tree that has /proc and /sys, for tests.
std::optional<MemoryLimit> memory_limit(const std::string& root = "");

}  // namespace h5mount::cli
