// The number of descriptors that reopenable files (make_file_source with `reopen`) hold together. Beyond it,
// those of the least recently used files are closed and reopened at the next read. Threads: any.
#pragma once

#include <cstddef>

namespace h5mount::io {

// The default is half of the soft RLIMIT_NOFILE, as it is when the first such file is opened.
void set_descriptor_budget(std::size_t budget);
std::size_t open_descriptor_count();

// A place in the budget for a file that the calling thread is about to open. When it is made, other
// descriptors are closed. It waits for those that are being read from, as long as at least one is given up
// every five seconds: no holder of a descriptor should wait for another one, but nothing enforces that, and a
// source may hang. Within another place of the same thread it does nothing.
class DescriptorPlace {
 public:
  DescriptorPlace();
  ~DescriptorPlace();
  DescriptorPlace(const DescriptorPlace&) = delete;
  DescriptorPlace& operator=(const DescriptorPlace&) = delete;

 private:
  bool mine_ = false;
};

// Closes half of these descriptors. For callers that could not open another file for lack of one (EMFILE).
void close_idle_descriptors();

}  // namespace h5mount::io
