// Writes structures byte by byte, so that a test can set any field to an invalid value.
#pragma once

#include <string_view>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/base/checksum.h"

namespace h5mount::test {

class ByteBuilder {
 public:
  ByteBuilder& uint(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      bytes_.push_back(static_cast<std::byte>(i < 8 ? value >> (8 * i) : 0));
    return *this;
  }
  ByteBuilder& u8(std::uint64_t v) { return uint(v, 1); }
  ByteBuilder& u16(std::uint64_t v) { return uint(v, 2); }
  ByteBuilder& u32(std::uint64_t v) { return uint(v, 4); }
  ByteBuilder& u64(std::uint64_t v) { return uint(v, 8); }
  ByteBuilder& text(std::string_view t) {
    for (const char c : t) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  ByteBuilder& add(const ByteBuilder& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }
  ByteBuilder& zeros(std::size_t count) { return uint(0, count); }
  // Appends zeros up to an absolute position, where the next structure begins.
  ByteBuilder& at(std::size_t position) {
    if (bytes_.size() < position) bytes_.resize(position);
    return *this;
  }
  ByteBuilder& checksum_from(std::size_t start) {
    return u32(lookup3_checksum(ByteSpan(bytes_).subspan(start)));
  }

  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace h5mount::test
