// Whether a thread that made a request still waits for the answer. When a signal comes, the kernel interrupts
// requests that their own thread waits for (of a stat, say). It does not interrupt one that reads pages
// ahead, whoever waits for the pages, nor a read with O_DIRECT, whose thread cannot even be killed before the
// answer. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
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

enum class ClientKind : std::uint8_t {
  Waiting,  // the thread waits for the request, or for pages that it asked for
  Direct    // O_DIRECT: the thread may have ended while its process waits (asynchronous input)
};

// `thread`: as in the request; 0: unknown. Returns false if it cannot be determined.
bool client_is_gone(pid_t thread, ClientKind kind);

// Whether the thread has ended or is about to.
bool is_gone(const ThreadStat& thread, ClientKind kind);
// From the text of /proc/PID/status: whether a signal is pending that the thread neither blocks nor ignores.
bool status_text_is_interrupted(std::string_view text);

}  // namespace h5mount::fuse
