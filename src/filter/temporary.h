// Private to this room: bytes for the length of one call, taken from and given back to a small store of the
// thread, so that decoding a chunk costs no trip to the allocator. Not initialised.
#pragma once

#include <array>
#include <memory>

#include "h5mount/base/bytes.h"

namespace h5mount::filter {

class Temporary {
 public:
  explicit Temporary(std::size_t size);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  MutableByteSpan bytes() const { return {buffer_.bytes.get(), size_}; }

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
  };
  struct Store;
  static Store& store();
  Buffer buffer_;
  std::size_t size_;
};

}  // namespace h5mount::filter
