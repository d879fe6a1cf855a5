// How much freed memory malloc keeps.
#pragma once

namespace h5mount {

// By default glibc gives each thread memory of its own (up to eight arenas a processor), and what was freed
// in one is not used by the others: with some 30 threads that was 100 MiB more than is in use. And once a
// large block was freed, it keeps blocks of up to that size: here what exceeds 4 MiB goes back to the system
// at once. To be called before there are threads.
void limit_malloc();

}  // namespace h5mount
