// How many descriptors the files that can be opened again (make_file_source with `reopen`) hold together.
// Where there are more files than that, the least recently used give theirs up and are opened again when they
// are next read. Threads: any.
#pragma once

#include <cstddef>

namespace h5mount::io {

// By default half of the soft RLIMIT_NOFILE, as it is when the first such file is opened.
void set_descriptor_budget(std::size_t budget);
std::size_t open_descriptor_count();

// For whoever cannot open something else for want of a descriptor (EMFILE): half of them are closed.
void close_idle_descriptors();

}  // namespace h5mount::io
