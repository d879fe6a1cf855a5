// Inherited descriptors, and the limit on the number of descriptors.
#pragma once

#include <vector>

namespace h5mount::cli {

// Closes every descriptor above stderr that is neither among `kept` nor named by the words of the command
// line (/dev/fd/N, /proc/self/fd/N), opens /dev/null in place of each of the first three that is missing, and
// raises the soft limit on descriptors to the hard one. To be called before anything is opened and before
// there are threads.
void tidy_descriptors(int count, const char* const* words, const std::vector<unsigned>& kept);

}  // namespace h5mount::cli
