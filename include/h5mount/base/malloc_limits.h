// How much freed memory malloc keeps.
#pragma once

namespace h5mount {

// By default glibc gives each thread an arena of its own (up to eight for each processor), and memory that
// was freed in one is not used by the others: with some 30 threads that was 100 MiB more than was in use. And
// once a large block was freed, glibc keeps blocks of up to that size; with this limit, blocks above 4 MiB go
// back to the system at once. To be called before there are threads.
void limit_malloc();

}  // namespace h5mount
