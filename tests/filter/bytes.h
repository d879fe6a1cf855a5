// Shared by the filters' tests: deterministic bytes and helpers that call a pipeline.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "h5mount/filter/filter.h"

namespace h5mount::test {

using Bytes = std::vector<std::byte>;

// xorshift64*: the same sequence everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

inline Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next() >> 56);
  return bytes;
}

// "0a1b…" to bytes.
inline Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return bytes;
}

inline Result<Bytes> decode(std::vector<filter::FilterSpec> specs, ByteSpan stored, std::size_t size,
                            std::uint32_t mask = 0) {
  H5_ASSIGN(const auto pipeline, filter::FilterPipeline::make(specs, size));
  filter::FilterScratch scratch;
  Bytes out(size);
  H5_TRY(pipeline->decode(stored, mask, out, scratch));
  return out;
}

}  // namespace h5mount::test
