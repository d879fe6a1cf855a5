// Drops a helper's rights before it reads any byte of a file.
#pragma once

#include <cstdint>

namespace h5mount::filter {

// Closes everything but standard input (the socket), output and error.
void close_all_else();

// What holds from before a plugin is loaded, as loading runs its code: no core dump, no new files, memory for
// libraries besides; the rights of nobody, no network; of system calls those of `confine`, and those that
// open and map files for reading. False where the kernel rejects a restriction.
bool confine_loading(std::uint64_t memory);

// Allows no core dump, no new files, and `memory` bytes beyond those mapped now. Allows only the system calls
// that memory, threads, time and the socket need, and signals to the process itself; all others, including
// fork and exec, fail with EPERM. False where the kernel rejects a restriction: the plugin must not run then.
bool confine(std::uint64_t memory);

}  // namespace h5mount::filter
