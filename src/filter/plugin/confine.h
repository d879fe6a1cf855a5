// Confinement of a helper process: it gives up its rights before it reads any byte of a file.
#pragma once

#include <cstdint>

namespace h5mount::filter {

// Closes everything but standard input (the socket), output and error.
void close_all_else();

// The restrictions that hold from before a plugin is loaded, as loading it runs its code: no core dump, no
// new files, `memory` bytes and some for libraries beyond those mapped now, the rights of nobody, no network;
// only the system calls of `confine` and those that open and map files for reading. Returns false if the
// kernel rejects a restriction.
bool confine_loading(std::uint64_t memory);

// Allows no core dump, no new files, and `memory` bytes beyond those mapped now. Allows only the system calls
// that memory, threads, time and the socket need, and signals to the process itself; all others, including
// fork and exec, fail with EPERM. Returns false if the kernel rejects a restriction: the plugin must not run
// then.
bool confine(std::uint64_t memory);

}  // namespace h5mount::filter
