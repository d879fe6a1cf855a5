// Bytes for the length of one call, taken from and given back to a small store of the
// thread, so that decoding a chunk costs no trip to the allocator. Not initialised.
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
  struct Store;
  static Store& store();
  ScratchBuffer buffer_;
  MutableByteSpan bytes_;
};

}  // namespace h5mount::filter
