// Inherited descriptors, and the limit on their number.
#pragma once

#include <vector>

namespace h5mount::cli {

// Closes every descriptor above stderr that is not among `kept` and that the words of the command line do not
// name (/dev/fd/N, /proc/self/fd/N), opens /dev/null where one of the first three is missing, and raises the
// soft limit on descriptors to the hard one. To be called before anything is opened and before there are
// threads.
void tidy_descriptors(int count, const char* const* words, const std::vector<unsigned>& kept);

}  // namespace h5mount::cli
