// Inherited descriptors, the limit on their number, and how much memory malloc keeps.
#pragma once

namespace h5mount::cli {

// Closes every descriptor above stderr that the words of the command line do not name (/dev/fd/N,
// /proc/self/fd/N), opens /dev/null where one of the first three is missing, and raises the soft limit on
// descriptors to the hard one. To be called before anything is opened and before there are threads.
void tidy_descriptors(int count, const char* const* words);

// By default glibc gives each thread memory of its own (up to eight arenas a processor), and what was freed
// in one is not used by the others: with some 30 threads that was 100 MiB more than is in use. To be called
// before there are threads.
void limit_malloc_arenas();

}  // namespace h5mount::cli
