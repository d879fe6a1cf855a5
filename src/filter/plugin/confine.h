// What a helper gives up before it touches a byte of a file.
#pragma once

#include <cstdint>

namespace h5mount::filter {

// Closes everything but standard input (the socket), output and error.
void close_all_else();

// No core, no new files, `memory` bytes more than are mapped now, and of the system's calls only those that
// memory, threads, time and the socket need: all others fail with EPERM, fork and exec among them. False
// where the kernel refuses: the plugin must not run then.
bool confine(std::uint64_t memory);

}  // namespace h5mount::filter
