// What /proc tells about a thread of this machine. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace h5mount::fuse {

// Fields of /proc/PID/stat, see proc_pid_stat(5).
struct ThreadStat {
  char state = 0;  // R, S, D, Z…
  std::uint64_t flags = 0;
  std::uint64_t pending = 0;  // signals
  int processor = -1;         // that it last ran on
};

// Returns nullopt if the thread is gone, or if the text cannot be parsed.
std::optional<ThreadStat> thread_stat(pid_t thread);
std::optional<ThreadStat> parse_thread_stat(std::string_view line);

// The text of /proc/THREAD/`what`, as far as `buffer` holds it; empty if it cannot be read.
std::string_view read_of_thread(pid_t thread, const char* what, std::span<char> buffer);

}  // namespace h5mount::fuse
