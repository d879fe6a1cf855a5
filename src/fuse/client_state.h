// Whether a thread that made a request still waits for the answer. The kernel interrupts a request for a
// thread that waits for it by name (a stat); it does not for one that waits for pages which a request reads
// ahead, nor for one that reads with O_DIRECT, which cannot even be killed before the answer. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace h5mount::fuse {

enum class ClientKind : std::uint8_t {
  Waiting,  // the thread waits for the request, or for pages that it asked for
  Direct    // O_DIRECT: the thread may have ended while its process waits (asynchronous input)
};

// `thread`: as in the request; 0: unknown. False where that cannot be found out.
bool client_is_gone(pid_t thread, ClientKind kind);

// From the text of /proc/PID/stat: whether the thread has ended or is about to.
bool stat_line_is_gone(std::string_view line, ClientKind kind);
// From the text of /proc/PID/status: whether a signal waits to be taken, of which a thread that waits for a
// request by name would have told the kernel.
bool status_text_is_interrupted(std::string_view text);

}  // namespace h5mount::fuse
