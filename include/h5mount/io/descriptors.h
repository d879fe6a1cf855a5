// The number of descriptors that reopenable files (make_file_source with `reopen`) hold together. Beyond it,
// those of the least recently used files are closed and reopened at the next read. Threads: any.
#pragma once

#include <cstddef>

namespace h5mount::io {

// By default half of the soft RLIMIT_NOFILE, as it is when the first such file is opened.
void set_descriptor_budget(std::size_t budget);
std::size_t open_descriptor_count();

// A place among them for a file that the calling thread is about to open. When it is made, others are closed,
// and those that are being read from are waited for, as long as any is given up within five seconds: nothing
// that holds one waits for another, but nothing forces that, and a source may hang. Within another place of
// the same thread it does nothing.
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
