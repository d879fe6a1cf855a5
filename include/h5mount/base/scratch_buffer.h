// A buffer that one thread reuses: it grows to the largest size requested and is not initialised.
#pragma once

#include <memory>
#include <utility>

#include "h5mount/base/bytes.h"

namespace h5mount {

class ScratchBuffer {
 public:
  ScratchBuffer() = default;
  ScratchBuffer(ScratchBuffer&& other) noexcept
      : bytes_(std::move(other.bytes_)), capacity_(std::exchange(other.capacity_, 0)) {}
  ScratchBuffer& operator=(ScratchBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  // `size` bytes of undefined contents. Spans returned earlier become invalid.
  MutableByteSpan grown(std::size_t size) {
    if (size > capacity_) {
      trim(0);  // frees first, so that old and new buffer never exist together
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
      capacity_ = size;
    }
    return {bytes_.get(), size};
  }
  // Frees the buffer if it is larger than `keep` bytes.
  void trim(std::size_t keep) {
    if (capacity_ <= keep) return;
    bytes_.reset();
    capacity_ = 0;
  }
  std::size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

}  // namespace h5mount
