// A temporary buffer, not initialised, from a small per-thread store, so that decoding a chunk does not
// allocate.
#pragma once

#include "h5mount/base/scratch_buffer.h"

namespace h5mount::filter {

class Temporary {
 public:
  explicit Temporary(std::size_t size);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  MutableByteSpan bytes() const { return bytes_; }

 private:
  ScratchBuffer buffer_;
  MutableByteSpan bytes_;
};

}  // namespace h5mount::filter
